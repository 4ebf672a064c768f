import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { untilSuccess } from '../../pacing/retry.ts';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';
import {
  type Cluster,
  type EmbeddedLog,
  openCluster,
  readServerLock,
  removeServerLock,
  removeUnfinished,
  SUPERUSER,
  startServer,
  stopServer,
} from './cluster.ts';

export interface EmbeddedDatabase {
  /** Connection string with the generated password; the server listens on 127.0.0.1 only. */
  url: string;
  /** Stops the server and keeps the data. */
  stop(): Promise<void>;
}

const DATABASE = 'jobferry';
/** Key of the session advisory lock whose holder owns the cluster. The lock is in the database `postgres`. */
const OWNER_LOCK = 0x6a6f62;
const START_ATTEMPTS = 5;
const RETRY_MS = 100;
/** How long to wait for a server that is starting or stopping, until its owner is known. */
const UNDECIDED_MS = 60_000;
/** How long a server may take to notice that its owner was killed. */
const NOTICED_MS = 5000;

/**
 * Starts an embedded PostgreSQL server in `dataDir`. The process that holds a session lock in it owns it. The lock ends with
 * the process in any case, so a server that a killed Jobferry has left running can be distinguished from one in use. Such
 * a server is restarted, because its settings and programs may be outdated.
 */
export async function startEmbedded(options: { dataDir: string; log: EmbeddedLog }): Promise<EmbeddedDatabase> {
  const cluster = await openCluster(options.dataDir, options.log);
  await stopLeftServer(cluster, options.log);
  const { owner, port } = await startOwned(cluster);
  const supervisor = new Supervisor(cluster, port, options.log);
  supervisor.watch(owner);
  try {
    await removeUnfinished(cluster);
    const { rowCount } = await owner.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await owner.query(`create database ${DATABASE}`);
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
  return { url: urlOf(cluster, port, DATABASE), stop: () => supervisor.stop() };
}

/** For admin commands. Uses the server of a Jobferry process that runs on this folder, or starts one. */
export async function joinEmbedded(options: { dataDir: string; log: EmbeddedLog }): Promise<EmbeddedDatabase> {
  try {
    return await startEmbedded(options);
  } catch (error) {
    if (!(error instanceof InUseError)) throw error;
  }
  const cluster = await openCluster(options.dataDir, options.log);
  const lock = await readServerLock(cluster);
  if (lock === null) throw new Error(`the database of ${cluster.folder} is being stopped: try again`);
  return { url: urlOf(cluster, lock.port, DATABASE), stop: async () => undefined };
}

/** Owns the server, and restarts it when it was killed. */
class Supervisor {
  readonly #cluster: Cluster;
  readonly #port: number;
  readonly #log: EmbeddedLog;
  #owner: pg.Client | null = null;
  #recovery: Promise<void> | null = null;
  readonly #stopping = new AbortController();

  constructor(cluster: Cluster, port: number, log: EmbeddedLog) {
    this.#cluster = cluster;
    this.#port = port;
    this.#log = log;
  }

  watch(owner: pg.Client): void {
    this.#owner = owner;
    owner.once('end', () => {
      this.#owner = null;
      if (!this.#stopping.signal.aborted) this.#recovery = this.#recover();
    });
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    await this.#recovery;
    await this.#owner?.end();
    const lock = await readServerLock(this.#cluster);
    if (lock !== null && isAlive(lock.pid)) await stopServer(this.#cluster);
  }

  async #recover(): Promise<void> {
    this.#log.warn({}, 'the embedded database has ended and is restarted');
    const owner = await untilSuccess(() => this.#restart(), {
      signal: this.#stopping.signal,
      waitMs: () => 10 * RETRY_MS,
      // After a crash the server first waits for its orphaned processes, and then recovers.
      onFailure: (error) =>
        this.#log.warn({ err: error }, 'the embedded database could not be restarted; this will be retried'),
    });
    if (owner === null) return;
    this.watch(owner);
    this.#log.info({}, 'the embedded database runs again');
  }

  async #restart(): Promise<pg.Client> {
    const lock = await readServerLock(this.#cluster);
    if (lock === null || !isAlive(lock.pid)) await startServer(this.#cluster, this.#port);
    return await own(this.#cluster, this.#port);
  }
}

/**
 * Several processes may do this at the same time. None of them stops a server any more, so the first process that gets the
 * lock owns the server, even if another one has started it.
 */
async function startOwned(cluster: Cluster): Promise<{ owner: pg.Client; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const lock = await readServerLock(cluster);
      const port = lock !== null && isAlive(lock.pid) ? lock.port : await startServer(cluster);
      return { port, owner: await own(cluster, port) };
    } catch (error) {
      // Otherwise the port was taken meanwhile, or another process is starting or stopping the server.
      if (error instanceof InUseError || attempt === START_ATTEMPTS) throw error;
      await wait(attempt * RETRY_MS);
    }
  }
}

/** @throws InUseError when another process owns the cluster */
async function stopLeftServer(cluster: Cluster, log: EmbeddedLog): Promise<void> {
  const noticedAt = performance.now() + NOTICED_MS;
  const giveUpAt = performance.now() + UNDECIDED_MS;
  for (;;) {
    const lock = await readServerLock(cluster);
    if (lock === null || !isAlive(lock.pid)) return;
    try {
      const owner = await own(cluster, lock.port);
      await owner.end();
      log.warn({ serverPid: lock.pid }, 'restarting the embedded database that an earlier process has left running');
      return await stopServer(cluster);
    } catch (error) {
      if (error instanceof InUseError) throw error;
      if (!(await isPostgres(lock.pid))) return await removeServerLock(cluster);
      if (error instanceof LeftError && performance.now() > noticedAt) throw new InUseError(error.message);
      if (performance.now() > giveUpAt) {
        throw new Error(`process ${lock.pid} holds ${cluster.folder} and does not answer`, { cause: error });
      }
      await wait(RETRY_MS);
    }
  }
}

class InUseError extends Error {
  override readonly name = 'InUseError';
}

/** The owner is no process of this machine: most likely it was killed, and the server is about to notice. */
class LeftError extends Error {
  override readonly name = 'LeftError';
}

/** Connects and takes the owner's lock, which lasts as long as the connection. */
async function own(cluster: Cluster, port: number): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: urlOf(cluster, port, 'postgres'),
    application_name: `jobferry ${process.pid}`,
    connectionTimeoutMillis: 5000,
    ...KEEP_ALIVE,
  });
  // Errors are ignored, because the event `end` follows and is handled.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${OWNER_LOCK}) as locked`);
    if (rows[0]?.locked !== true) throw await refusal(cluster, client);
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function refusal(cluster: Cluster, client: pg.Client): Promise<InUseError | LeftError> {
  const { rows } = await client.query<{ pid: number }>(
    `select substring(a.application_name from '^jobferry ([0-9]+)$')::integer as pid
       from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = ${OWNER_LOCK}`,
  );
  const pid = rows[0]?.pid ?? null;
  const message =
    `${cluster.folder} is in use by another Jobferry (${pid === null ? 'another process' : `process ${pid}`}): stop it, ` +
    'choose another DATA_DIR, or let both share one database server with DATABASE_URL';
  return pid === null || isAlive(pid) ? new InUseError(message) : new LeftError(message);
}

function urlOf(cluster: Cluster, port: number, database: string): string {
  return `postgresql://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}`;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the pid still belongs to a PostgreSQL server. Returns true where that cannot be found out. */
async function isPostgres(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  return readFile(`/proc/${pid}/comm`, 'utf8').then(
    (command) => command.trim() === 'postgres',
    () => false,
  );
}
