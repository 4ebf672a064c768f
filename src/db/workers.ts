import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database, DatabaseLog, Statement } from './database.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import { notify } from './notifications.ts';
import type { OriginGuard } from './origin.ts';
import { CALL_CHANNEL, type CallReason, readCall } from './wake-ups.ts';

/** First key of the advisory locks that worker processes hold; the second is their number. */
const LOCK_CLASS = 0x6a66;
/** How long releasing a lock waits for a server that may not answer. */
const GOODBYE_MS = 1000;

/**
 * The lease lock of a worker process: a session advisory lock on its number, on a connection of its own. The server
 * drops the lock with the connection, so a killed process is known within seconds.
 *
 * It is a shared lock. A process that has lost its connection can so take its number again at once, although the server
 * may still keep the old session, and with it the old lock, for hours. The number itself belongs to one process: it was
 * taken exclusively first.
 */
export interface LeaseLock {
  readonly workerId: number;
  /** The server's process behind the connection, as it knows it itself: a proxy may tell the client another one. */
  readonly session: Session;
  /** Resolves with the reason when the connection is known to be gone. That it is open proves nothing: see `isHeld`. */
  readonly lost: Promise<string>;
  /** Whether the server has the lock, on this connection. Rejects when the connection ends meanwhile. */
  isHeld(): Promise<boolean>;
  /** Gives the lock back. Resolves within a second, even when the server does not answer. */
  release(): Promise<void>;
  /** Closes the connection at once, without a word to a server that may not answer. */
  drop(): void;
}

interface Session {
  pid: number;
  /** As PostgreSQL writes it: its microseconds do not fit into a `Date`. */
  startedAt: string;
}

export interface LeaseLockOptions {
  url: string;
  log: DatabaseLog;
  /** Of the process: claims go to the server that it accepts, so the lock must be there. */
  origin: OriginGuard;
  /** Another process says that a queue may have work. What is said while the connection is lost is lost, too. */
  onCall(queueId: string, reason: CallReason): void;
  /** Another process says that it has taken back this worker's claims, because it saw no lock. */
  onDeclaredDead(): void;
}

/**
 * Takes a new number, or that of a lock that was lost: claims under it are still ours. The session that had it is ended
 * if the server still keeps it, or the death of this process would not be seen.
 * @throws when the server cannot be reached or does not answer within `timeoutMs` for each step
 */
export async function takeLeaseLock(
  options: LeaseLockOptions,
  former: LeaseLock | null,
  timeoutMs: number,
): Promise<LeaseLock> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'jobferry lease lock',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    ...KEEP_ALIVE,
    stream: () => socket,
  });
  let reason: string | null = null;
  client.on('error', (error) => {
    // The first one is the cause; the driver then says that the connection has ended.
    reason ??= error.message;
    socket.destroy();
  });
  const lost = new Promise<string>((resolve) =>
    client.once('end', () => resolve(reason ?? 'the connection was closed')),
  );
  try {
    await client.connect();
    await options.origin.check(client);
    const workerId = former?.workerId ?? (await newNumber(client));
    const session = await takeShared(client, workerId);
    client.on('notification', ({ payload }) => hear(payload ?? '', workerId, options));
    await client.query(`listen ${CALL_CHANNEL}`);
    if (former !== null) {
      await endSession(client, former, options.log).catch((error: unknown) => {
        // The new lock is what matters.
        options.log.warn({ err: error, workerId }, 'the old session of the lease lock could not be ended');
      });
    }
    return {
      ...{ workerId, session, lost },
      isHeld: async () => (await client.query<{ held: boolean }>(IS_HELD, [workerId])).rows[0]?.held === true,
      release: async () => {
        const ended = client.end().catch(() => undefined);
        await Promise.race([ended, sleep(GOODBYE_MS, undefined, { ref: false })]);
        socket.destroy();
      },
      drop: () => void socket.destroy(),
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A number that no other process has. After a failover that lost commits, the sequence may be behind those in use. */
async function newNumber(client: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ id: number; taken: boolean }>(
      `select id, pg_try_advisory_lock(${LOCK_CLASS}, id) as taken
         from (select nextval('jobferry_worker_id_seq')::integer as id offset 0) as number`,
    );
    if (rows[0]?.taken === true) return rows[0].id;
  }
}

/** Whatever else of the number this session has, it keeps the shared lock and gives the exclusive one back. */
async function takeShared(client: pg.Client, workerId: number): Promise<Session> {
  const { rows } = await client.query<{ taken: boolean; pid: number; started_at: string }>(
    `select pg_try_advisory_lock_shared(${LOCK_CLASS}, $1) as taken, pid, backend_start::text as started_at
       from pg_stat_activity where pid = pg_backend_pid()`,
    [workerId],
  );
  const session = rows[0];
  if (session?.taken !== true) throw new Error(`another process has the worker number ${workerId}`);
  await client.query(
    `select pg_advisory_unlock(${LOCK_CLASS}, $1) from pg_locks
      where pid = pg_backend_pid() and locktype = 'advisory' and classid = ${LOCK_CLASS} and mode = 'ExclusiveLock'`,
    [workerId],
  );
  return { pid: session.pid, startedAt: session.started_at };
}

/**
 * Only the very session that this process had: a number could belong to another process after a failover that lost
 * commits, and both would go on ending each other's sessions.
 */
async function endSession(client: pg.Client, { workerId, session }: LeaseLock, log: DatabaseLog): Promise<void> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.classid = ${LOCK_CLASS} and l.objid = $1
        and a.pid = $2 and a.backend_start = $3::timestamptz`,
    [workerId, session.pid, session.startedAt],
  );
  if (rowCount) log.warn({ workerId, serverPid: session.pid }, 'ended the old session of the lease lock');
}

const IS_HELD = `
  select exists (
    select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
                           and classid = ${LOCK_CLASS} and objid = $1 and granted) as held`;

/** Numbers of the workers whose lease lock this server has. */
export const HELD_LOCKS = `
  select distinct objid::integer as worker_id from pg_locks
   where locktype = 'advisory' and classid = ${LOCK_CLASS} and granted
     and database = (select oid from pg_database where datname = current_database())`;

const LEASE_LOCKS: Statement = { name: 'lease-locks', text: HELD_LOCKS };

/** Numbers of the workers whose lease lock the server has that is asked. */
export async function workersWithLock(db: Database): Promise<Set<number>> {
  const rows = await db.query<{ worker_id: number }>(LEASE_LOCKS);
  return new Set(rows.map((row) => row.worker_id));
}

// Reads what is in flight by its partial index, so it is not for every look: see worker/liveness.
const CLAIMING: Statement = {
  name: 'claiming-workers',
  text: `select distinct worker_id from job where status = 'processing'`,
};

/** Numbers of the workers that have claims. */
export async function workersWithClaims(db: Database): Promise<number[]> {
  const rows = await db.query<{ worker_id: number }>(CLAIMING);
  return rows.map((row) => row.worker_id);
}

/** First word of a message on `CALL_CHANNEL`. Processes of before that do not know it find no queue in the rest. */
const DEAD = 'dead';

/** Tells workers that their claims were taken back: one that hears it has lost its lock without noticing. */
export async function tellDeclaredDead(db: Database, workerIds: readonly number[]): Promise<void> {
  await notify(db, CALL_CHANNEL, [[DEAD, ...workerIds].join(' ')]);
}

function hear(message: string, workerId: number, options: LeaseLockOptions): void {
  const [first, ...rest] = message.split(' ');
  if (first === DEAD) {
    if (rest.includes(String(workerId))) options.onDeclaredDead();
    return;
  }
  const { reason, queueIds } = readCall(message);
  for (const queueId of queueIds) options.onCall(queueId, reason);
}
