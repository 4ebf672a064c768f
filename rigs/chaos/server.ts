import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openCluster } from '../../src/db/embedded/cluster.ts';
import { startEmbedded } from '../../src/db/embedded/server.ts';
import { migrate } from '../../src/db/schema/migrate.ts';
import { installWakeUps } from '../../src/worker/wake-ups/runner.ts';
import { waitFor } from '../../test/support/wait-for.ts';

const quiet = { info: () => undefined, warn: () => undefined };

/** Where the data of a run is. */
export interface DatabaseServer {
  readonly url: string;
  /** For processes that find the primary among several hosts; they are not relayed then. */
  readonly hostsUrl?: string;
  /** Resolves when it takes connections. */
  back(): Promise<void>;
  stop(): Promise<void>;
}

/** A PostgreSQL server of this run alone, so the run may break it. */
export interface ChaosServer extends DatabaseServer {
  /** Kills it at once; its keeper starts it again on the same data. Returns the process id. */
  crash(): Promise<number>;
  /** Stops it in good order; its keeper starts it again. */
  restart(): Promise<number>;
}

/**
 * Starts a server of its own with the schema in it.
 * @param options.settings lines of its configuration
 * @param options.folder where its files are, in a folder of their own; the system's temporary folder without it
 */
export async function startServer(options: { folder?: string; settings?: string[] } = {}): Promise<ChaosServer> {
  const dataDir = await mkdtemp(join(options.folder ?? tmpdir(), 'jobferry-chaos-'));
  if (options.settings !== undefined) {
    const { folder } = await openCluster(dataDir, quiet);
    await writeFile(join(folder, 'local.conf'), `${options.settings.join('\n')}\n`, { mode: 0o644 });
  }
  const server = await startEmbedded({ dataDir, log: quiet });
  const { url } = server;
  await migrate({ url, log: quiet, afterMigrations: () => installWakeUps(url) });
  const cluster = await openCluster(dataDir, quiet);
  const pidNow = async () => (await pidOf(cluster.folder)) ?? 0;

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
      // Not by pg_ctl: if the keeper is faster than its poll, it would wait for the end of the next server.
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

/** The process number of the server on this data, or null when there is none. */
export async function pidOf(folder: string): Promise<number | null> {
  const lock = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => null);
  return lock === null ? null : Number(lock.split('\n')[0]);
}

export async function canConnect(url: string): Promise<boolean> {
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
