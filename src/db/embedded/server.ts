import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { untilSuccess } from '../../pacing/retry.ts';
import { atExit } from './at-exit.ts';
import {
  assertWritable,
  type Cluster,
  type EmbeddedLog,
  findCluster,
  findCreator,
  hasListener,
  interruptServer,
  keepInDataDir,
  makeDataDir,
  openCluster,
  readServerLock,
  removeServerLock,
  removeUnfinished,
  startServer,
  stopServer,
} from './cluster.ts';
import { InUseError, inUse, lockFolder, type OwnerRole } from './folder-lock.ts';
import { LeftError, own, urlOf } from './owner.ts';
import { isAlive, isServerOf } from './server-process.ts';
import { stopOnSignal } from './stop-on-signal.ts';

export interface EmbeddedDatabase {
  /** Connection string with the generated password; the server listens on 127.0.0.1 only. */
  url: string;
  /** Writes a file into DATA_DIR that only its owner can read. */
  keep(name: string, text: string): Promise<void>;
  /** Stops the server and keeps the data. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  dataDir: string;
  log: EmbeddedLog;
}

const DATABASE = 'jobferry';
const START_ATTEMPTS = 5;
const RETRY_MS = 100;
/** How long to wait for a server that is starting or stopping, until its owner is known. */
const UNDECIDED_MS = 60_000;
/** How long a server may take to notice that its owner was killed. */
const NOTICED_MS = 5000;

/**
 * Starts an embedded PostgreSQL server in `dataDir`. The process that holds the lock of the folder and a session lock
 * in the server owns it. Both end with the process in any case, so a server that a killed Jobferry has left running can
 * be distinguished from one in use. Such a server is restarted, because its settings and programs may be outdated.
 * @throws InUseError when another process owns the cluster; the end of a command is waited for, up to a minute
 */
export async function startEmbedded(options: EmbeddedOptions, role: OwnerRole = 'service'): Promise<EmbeddedDatabase> {
  const { dataDir, log } = options;
  await makeDataDir(dataDir);
  const { cluster, owner, port, stop } = await afterCommands(log, () => startLocked(options, role));
  try {
    await removeUnfinished(cluster);
    const { rowCount } = await owner.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await owner.query(`create database ${DATABASE}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: urlOf(cluster, port, DATABASE),
    keep: (name, text) => keepInDataDir(cluster, dataDir, name, text),
    stop,
  };
}

/** Starts the server under the lock of the folder, which is held until the server has stopped. */
async function startLocked({ dataDir, log }: EmbeddedOptions, role: OwnerRole) {
  // Before the lock: its warning would only hide why the start is refused.
  await assertWritable(dataDir);
  const lock = await lockFolder(dataDir, role, log);
  try {
    const cluster = { ...(await openCluster(dataDir, log)), hasSocket: lock.isShared };
    await stopLeftServer(cluster, role, log);
    return { cluster, ...(await startSupervised(cluster, { role, log, onStopped: () => lock.release() })) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface Supervision {
  role: OwnerRole;
  log: EmbeddedLog;
  onStopped(): Promise<void>;
}

/** Starts the server. A signal that ends a command stops it from then on; a service stops it itself. */
async function startSupervised(cluster: Cluster, { role, log, onStopped }: Supervision) {
  const starting = startOwned(cluster, role).then(({ owner, port }) => {
    const supervisor = new Supervisor(cluster, { port, role, log });
    supervisor.watch(owner);
    return { owner, stop: () => supervisor.stop().finally(onStopped), port };
  });
  const leaveSignals = role === 'command' ? stopOnSignal(starting) : () => undefined;
  try {
    const { owner, stop, port } = await starting;
    return { owner, port, stop: () => stop().finally(leaveSignals) };
  } catch (error) {
    leaveSignals();
    throw error;
  }
}

/** A command ends soon, and stops its server then: neither the service nor another command can use it. */
async function afterCommands<T>(log: EmbeddedLog, start: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + UNDECIDED_MS;
  for (let isLogged = false; ; isLogged = true) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof InUseError) || !error.isByCommand || performance.now() > giveUpAt) throw error;
      if (!isLogged) log.info({}, 'waiting for a command that uses the embedded database');
      await wait(RETRY_MS);
    }
  }
}

/**
 * For admin commands. Uses the server of a Jobferry process that runs on this folder, or starts one.
 * @throws Error if there is no database, unless the command `mayCreate` one
 */
export async function joinEmbedded(options: EmbeddedOptions & { mayCreate: boolean }): Promise<EmbeddedDatabase> {
  if (!options.mayCreate) await assertPresent(options.dataDir);
  const giveUpAt = performance.now() + UNDECIDED_MS;
  for (;;) {
    try {
      return await startEmbedded(options, 'command');
    } catch (error) {
      if (!(error instanceof InUseError) || error.isElsewhere) throw error;
    }
    const cluster = await openCluster(options.dataDir, options.log);
    const lock = await readServerLock(cluster);
    if (lock !== null && (await hasDatabase(cluster, lock.port))) {
      const keep = (name: string, text: string) => keepInDataDir(cluster, options.dataDir, name, text);
      return { url: urlOf(cluster, lock.port, DATABASE), keep, stop: async () => undefined };
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`another process is starting or stopping the database of ${cluster.folder}: try again`);
    }
    await wait(RETRY_MS);
  }
}

async function assertPresent(dataDir: string): Promise<void> {
  if ((await findCluster(dataDir)) !== null) return;
  const creator = await findCreator(dataDir);
  throw new Error(
    creator === null
      ? `no database in ${dataDir} here: start \`jobferry serve\`, or set DATABASE_URL or DATA_DIR`
      : `process ${creator} is creating the database in ${dataDir}: try again when \`serve\` is ready`,
  );
}

/** @returns false while the owner of a new cluster has not created the database yet, or the server starts or stops */
async function hasDatabase(cluster: Cluster, port: number): Promise<boolean> {
  const client = new pg.Client({
    connectionString: urlOf(cluster, port, DATABASE),
    application_name: 'jobferry command',
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => undefined);
  return client
    .connect()
    .then(
      () => true,
      () => false,
    )
    .finally(() => client.end().catch(() => undefined));
}

/** Owns the server, and restarts it when it was killed. */
class Supervisor {
  readonly #cluster: Cluster;
  readonly #port: number;
  readonly #role: OwnerRole;
  readonly #log: EmbeddedLog;
  #owner: pg.Client | null = null;
  #recovery: Promise<void> | null = null;
  readonly #stopping = new AbortController();
  #stopped: Promise<void> | null = null;
  readonly #leaveExit: () => void;

  constructor(cluster: Cluster, { port, role, log }: { port: number; role: OwnerRole; log: EmbeddedLog }) {
    this.#cluster = cluster;
    this.#port = port;
    this.#role = role;
    this.#log = log;
    this.#leaveExit = atExit(() => interruptServer(cluster));
  }

  watch(owner: pg.Client): void {
    this.#owner = owner;
    owner.once('end', () => {
      this.#owner = null;
      if (!this.#stopping.signal.aborted) this.#recovery = this.#recover();
    });
  }

  /** Each call resolves when the server has stopped. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop().finally(this.#leaveExit);
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#recovery;
    const owner = this.#owner;
    const lock = await readServerLock(this.#cluster);
    // No other process may own a server that is being stopped, so the lock is kept until the server ends the
    // connection.
    if (lock !== null && isAlive(lock.pid)) await stopServer(this.#cluster);
    await owner?.end().catch(() => undefined);
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
    return await own(this.#cluster, this.#port, this.#role);
  }
}

/**
 * Several processes may do this at the same time. None of them stops a server any more, so the first process that gets
 * the lock owns the server, even if another one has started it.
 */
async function startOwned(cluster: Cluster, role: OwnerRole): Promise<{ owner: pg.Client; port: number }> {
  const here = { isStarted: false };
  const leaveExit = atExit(() => here.isStarted && interruptServer(cluster));
  return await tryToOwn(cluster, role, here).finally(leaveExit);
}

async function tryToOwn(cluster: Cluster, role: OwnerRole, here: { isStarted: boolean }) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const lock = await readServerLock(cluster);
      const isRunning = lock !== null && isAlive(lock.pid);
      here.isStarted ||= !isRunning;
      const port = isRunning ? lock.port : await startServer(cluster);
      return { port, owner: await own(cluster, port, role) };
    } catch (error) {
      if (error instanceof InUseError) throw error;
      // Otherwise the port was taken meanwhile, or another process is starting or stopping the server.
      if (attempt < START_ATTEMPTS) {
        await wait(attempt * RETRY_MS);
        continue;
      }
      // A start that fails leaves no server.
      if (here.isStarted) await stopServer(cluster).catch(() => undefined);
      throw error;
    }
  }
}

/** @throws InUseError when another process owns the cluster */
async function stopLeftServer(cluster: Cluster, role: OwnerRole, log: EmbeddedLog): Promise<void> {
  const noticedAt = performance.now() + NOTICED_MS;
  const giveUpAt = performance.now() + UNDECIDED_MS;
  for (;;) {
    const lock = await readServerLock(cluster);
    const isTaken = lock !== null && isAlive(lock.pid);
    const isAbsent = !isTaken || !(await isServerOf(cluster.folder, lock.pid));
    if (isAbsent && !(await hasListener(cluster))) {
      // A server refuses a file whose pid belongs to another process now, as in a new container, and one without a pid.
      // That of a dead server it replaces itself, after it has looked for the server's other processes.
      if (isTaken || lock === null) await removeServerLock(cluster);
      return;
    }
    try {
      if (isAbsent) throw unseen(cluster);
      const owner = await own(cluster, lock.port, role);
      log.warn({ serverPid: lock.pid }, 'restarting the embedded database that an earlier process has left running');
      // No other process may own it meanwhile.
      await stopServer(cluster);
      return await owner.end().catch(() => undefined);
    } catch (error) {
      if (error instanceof InUseError) throw error;
      if (error instanceof LeftError && performance.now() > noticedAt)
        throw new InUseError(error.message, { isByCommand: false });
      if (performance.now() > giveUpAt) {
        throw new Error(`process ${lock?.pid} holds ${cluster.folder} and does not answer`, { cause: error });
      }
      await wait(RETRY_MS);
    }
  }
}

/**
 * A server listens in the folder, and its lock file has no process of this machine:
 * a Jobferry that was killed has left it.
 */
function unseen({ folder }: Cluster): InUseError {
  const who = 'a PostgreSQL server that cannot be seen from here, most likely in another container';
  return new InUseError(inUse(folder, who), { isByCommand: false, isElsewhere: true });
}
