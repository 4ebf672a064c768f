import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Cluster, openCluster, startServer, stopServer } from '../../src/db/embedded/cluster.ts';
import { runAs } from '../../src/db/embedded/server-user.ts';
import { migrate } from '../../src/db/schema/migrate.ts';
import { installWakeUps } from '../../src/worker/wake-ups/runner.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { canConnect, type DatabaseServer, pidOf } from './server.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const DATABASE = 'jobferry';
const STANDBY = 'standby';

/** The parts of a data directory that do not belong into a copy of it (PostgreSQL manual, "Making a base backup"). */
const NOT_COPIED = [
  'pg_wal/*',
  'postmaster.*',
  'pg_replslot/*',
  'pg_dynshmem/*',
  'pg_notify/*',
  'pg_stat_tmp/*',
  'pgsql_tmp*',
];

interface Server {
  cluster: Cluster;
  dataDir: string;
  port: number;
}

/**
 * A primary and a synchronous standby, as a managed database has them: what was committed survives the primary, its
 * sessions and their locks do not.
 */
export interface ServerPair extends DatabaseServer {
  /** The address of the server that is the primary now. */
  readonly url: string;
  /** The address of the server that follows it. */
  readonly standbyUrl: string;
  /**
   * Makes the standby the primary. The former primary keeps running on the older timeline if it is kept. Calls
   * `between` when the old one no longer counts and the new one does not answer yet.
   */
  failOver(options: { keepOld: boolean; between?: () => void }): Promise<void>;
  /** The former primary, if it was kept; a database in which nothing must change any more. */
  readonly past: { url: string } | null;
  /** Ends the former primary. */
  endPast(): Promise<void>;
  /** Commits wait for a standby that gives no answer. */
  hangStandby(): Promise<void>;
  resumeStandby(): Promise<void>;
  /** Resolves when a standby has all that the primary has, and each commit waits for it. */
  protected(): Promise<void>;
}

export async function startServerPair(): Promise<ServerPair> {
  const folders: string[] = [];
  async function folder(): Promise<string> {
    const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-pair-'));
    folders.push(dataDir);
    return dataDir;
  }

  let primary = await startPrimary(await folder());
  let standby: Server | null = null;
  let past: Server | null = null;
  let hanging: number | null = null;
  /** A standby on its way. */
  let building: Promise<void> = Promise.resolve();

  const build = () => {
    building = (async () => {
      const dataDir = await folder();
      standby = await copyOf(primary, dataDir);
      await protect(primary);
    })();
    building.catch(() => undefined);
  };

  async function end(server: Server): Promise<void> {
    await killServer(server);
    await rm(server.dataDir, { recursive: true, force: true });
  }

  async function endPast(): Promise<void> {
    const ending = past;
    past = null;
    if (ending !== null) await end(ending);
  }

  build();
  await building;
  return {
    get url() {
      return urlOf(primary);
    },
    get standbyUrl() {
      if (standby === null) throw new Error('there is no standby');
      return urlOf(standby);
    },
    get past() {
      return past === null ? null : { url: urlOf(past) };
    },
    back: () => waitFor(() => canConnect(urlOf(primary)), { timeoutMs: 60_000, message: 'PostgreSQL' }).then(() => {}),
    async failOver({ keepOld, between = () => undefined }) {
      await building;
      if (standby === null) throw new Error('there is no standby');
      await endPast();
      const [old, next] = [primary, standby];
      // Without its standby it cannot answer a commit any more, which is what fences it.
      between();
      if (!keepOld) await killServer(old);
      await onServer(urlOf(next), 'select pg_promote(true, 60)');
      primary = next;
      standby = null;
      if (keepOld) {
        past = old;
        // It no longer waits for a standby, and takes writes again.
        await configure(old.cluster, '');
        await onServer(urlOf(old), 'select pg_reload_conf()');
      } else await rm(old.dataDir, { recursive: true, force: true });
      build();
    },
    endPast,
    async hangStandby() {
      await building;
      if (standby === null) throw new Error('there is no standby');
      const [receiver] = await onServer<{ pid: number }>(urlOf(standby), 'select pid from pg_stat_wal_receiver');
      if (receiver === undefined) throw new Error('the standby does not follow');
      hanging = receiver.pid;
      process.kill(hanging, 'SIGSTOP');
    },
    async resumeStandby() {
      if (hanging !== null) process.kill(hanging, 'SIGCONT');
      hanging = null;
    },
    protected: () => building,
    async stop() {
      if (hanging !== null) process.kill(hanging, 'SIGCONT');
      await building.catch(() => undefined);
      await Promise.all([primary, standby, past].map((server) => (server === null ? null : killServer(server))));
      await Promise.all(folders.map((path) => rm(path, { recursive: true, force: true })));
    },
  };
}

async function startPrimary(dataDir: string): Promise<Server> {
  const cluster = await openCluster(dataDir, quiet);
  await configure(cluster, '');
  const server = { cluster, dataDir, port: await startServer(cluster) };
  await onServer(urlOf(server, 'postgres'), `create database ${DATABASE}`);
  const url = urlOf(server);
  await migrate({ url, log: quiet, afterMigrations: () => installWakeUps(url) });
  return server;
}

/** A running standby of the server, made from a copy of its files. */
async function copyOf(primary: Server, dataDir: string): Promise<Server> {
  const { user, folder, password } = primary.cluster;
  const target = join(dataDir, 'postgres');
  const backup = new pg.Client({ connectionString: urlOf(primary, 'postgres') });
  backup.on('error', () => undefined);
  await backup.connect();
  try {
    await backup.query(`select pg_backup_start('standby', true)`);
    const script = `mkdir -m 700 "$2" && tar -c -C "$1" ${NOT_COPIED.map((path) => `--exclude='./${path}'`).join(' ')} . | tar -x -C "$2"`;
    await mkdir(dataDir, { recursive: true });
    if (user !== null) await runAs(null, 'chown', [`${user.uid}:${user.gid}`, dataDir]);
    await runAs(user, '/bin/sh', ['-c', script, 'sh', folder, target]);
    const { rows } = await backup.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await writeAs(primary.cluster, join(target, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await backup.end().catch(() => undefined);
  }
  const cluster = await openCluster(dataDir, quiet);
  const way = `host=127.0.0.1 port=${primary.port} user=${SUPERUSER} password=${password} application_name=${STANDBY}`;
  await configure(cluster, `primary_conninfo = '${way}'`);
  await writeAs(cluster, join(target, 'standby.signal'), '');
  return { cluster, dataDir, port: await startServer(cluster) };
}

/** From when the standby follows, each commit waits for it: what was answered is on both. */
async function protect(primary: Server): Promise<void> {
  const state = `select from pg_stat_replication where application_name = '${STANDBY}' and state = 'streaming'`;
  await waitFor(async () => (await onServer(urlOf(primary), state)).length > 0, {
    timeoutMs: 60_000,
    message: 'a standby that follows',
  });
  await configure(primary.cluster, `synchronous_standby_names = '${STANDBY}'`);
  await onServer(urlOf(primary), 'select pg_reload_conf()');
  const sync = `select from pg_stat_replication where sync_state = 'sync'`;
  await waitFor(async () => (await onServer(urlOf(primary), sync)).length > 0, { message: 'a synchronous standby' });
}

const SUPERUSER = 'jobferry';

/** Read after PostgreSQL's own settings, which are written again at each start. */
async function configure(cluster: Cluster, line: string): Promise<void> {
  const lines = ['wal_keep_size = 512MB', 'wal_sender_timeout = 0', 'max_wal_size = 256MB', line, ''];
  await writeAs(cluster, join(cluster.folder, 'local.conf'), lines.join('\n'));
}

async function writeAs(cluster: Cluster, path: string, text: string): Promise<void> {
  await writeFile(path, text, { mode: 0o600 });
  const { user } = cluster;
  if (user !== null) await runAs(null, 'chown', [`${user.uid}:${user.gid}`, path]);
}

async function killServer(server: Server): Promise<void> {
  const pid = await pidOf(server.cluster.folder);
  if (pid === null) return;
  // Its children end with it, and only then the next one may have their shared memory.
  process.kill(pid, 'SIGQUIT');
  await stopServer(server.cluster).catch(() => undefined);
}

function urlOf({ cluster, port }: Server, database = DATABASE): string {
  return `postgresql://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}`;
}

async function onServer<Row extends pg.QueryResultRow>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
