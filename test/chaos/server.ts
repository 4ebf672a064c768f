import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openCluster } from '../../src/db/embedded/cluster.ts';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { installWakeUps } from '../../src/worker/runner.ts';
import { waitFor } from '../support/wait-for.ts';

const quiet = { info: () => undefined, warn: () => undefined };

/** A PostgreSQL server that a run may break without hurting anybody else's. */
export interface ChaosServer {
  url: string;
  /** Kills it as it stands; its keeper brings it back on the same data. Answers the process number. */
  crash(): Promise<number>;
  /** Stops it in good order, and has it brought back. */
  restart(): Promise<number>;
  /** Resolves when it takes connections. */
  back(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server of its own with the schema in it. */
export async function startServer(): Promise<ChaosServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-chaos-'));
  const server = await startEmbedded({ dataDir, log: quiet });
  const { url } = server;
  await migrate({ url, log: quiet, afterMigrations: () => installWakeUps(url) });
  const cluster = await openCluster(dataDir, quiet);
  const pidNow = async () => Number((await readFile(join(cluster.folder, 'postmaster.pid'), 'utf8')).split('\n')[0]);

  async function back(): Promise<void> {
    await waitFor(() => canConnect(url), { timeoutMs: 60_000, everyMs: 50, message: 'PostgreSQL' });
  }

  return {
    url,
    back,
    async crash() {
      const pid = await pidNow();
      process.kill(pid, 'SIGKILL');
      return pid;
    },
    async restart() {
      // Not by pg_ctl, which would wait for the next server to end when the keeper is quicker than its look.
      const pid = await pidNow();
      process.kill(pid, 'SIGINT');
      await waitFor(() => !isAlive(pid), { timeoutMs: 60_000, message: 'the end of the server' });
      return pid;
    },
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } finally {
    await client.end().catch(() => undefined);
  }
}
