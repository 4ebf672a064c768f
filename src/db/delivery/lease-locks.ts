import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Address, createClient } from '../connection/address.ts';
import { isReadOnly } from '../connection/connections.ts';
import type { Database, DatabaseLog, Statement } from '../connection/database.ts';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';
import { notify } from '../connection/notifications.ts';
import type { OriginGuard } from '../connection/origin.ts';
import { WRITABLE } from '../connection/server.ts';

/** First key of the advisory locks of worker processes. The second key is the worker number. */
const LOCK_CLASS = 0x6a66;
/** How long `release` waits for the server. */
const GOODBYE_MS = 1000;
/** How long a confirmation waits for a locked table or row; shorter than its time limit. */
const LOCK_TIMEOUT_MS = 500;
/** How long a read-only session waits to learn whether a new one could write; part of the time for a confirmation. */
const NEW_SESSION_MS = 400;

/**
 * The lease lock of a worker process: a session advisory lock on its number, on a connection of its own. The server
 * drops the lock with the connection, so a killed process is known within seconds.
 *
 * It is a shared lock. So a process that has lost its connection can take its number again at once, although the server
 * may keep the old session, and with it the old lock, for hours. The number still belongs to one process only, because
 * the process first takes an exclusive lock on it.
 */
export interface LeaseLock {
  readonly workerId: number;
  /** The server process of the connection, as the server reports it: a proxy may report another one to the client. */
  readonly session: Session;
  /** The first confirmation, from when the lock was taken. */
  readonly confirmation: Confirmed;
  /**
   * Resolves with the reason when the connection is closed. An open connection does not prove the lock: see `confirm`.
   */
  readonly lost: Promise<string>;
  /**
   * Asks the server on this connection whether it has the lock, and stores the time. Other workers use the stored time
   * to decide whether this process is dead, so only a stored confirmation counts. Rejects when the connection ends.
   * @param isResting whether the process has had no claims for some time. Then the stored time is deleted, and the
   *   server must be able to write all the same. Without a stored time, other workers conclude from the absence of the
   *   lock alone, which takes them longer.
   */
  confirm(isResting: boolean): Promise<Confirmed | 'gone'>;
  /** Releases the lock. Resolves within a second, even when the server does not reply. */
  release(): Promise<void>;
  /** Destroys the socket at once, without a message to the server, which may not reply. */
  drop(): void;
}

/** `unwritable`: the server has the lock, but cannot store the confirmation; the text is its error message. */
type Confirmed = 'confirmed' | { unwritable: string };

interface Session {
  pid: number;
  /** Text as PostgreSQL formats it, because its microseconds do not fit into a `Date`. */
  startedAt: string;
}

export interface LeaseLockOptions {
  url: Address;
  log: DatabaseLog;
  /** The process's guard. Claims go to a server that it accepts, so the lock must be on such a server, too. */
  origin: OriginGuard;
}

/**
 * Takes the lock on a new worker number, or on the number of a lost lock, whose claims then stay with this process. If
 * the server still has the session of the lost lock, it is terminated: it would hide the death of this process.
 * @param former the lost lock; null takes a new number
 * @throws when the server cannot be reached or does not reply within `timeoutMs` for each step
 */
export async function takeLeaseLock(
  options: LeaseLockOptions,
  former: LeaseLock | null,
  timeoutMs: number,
): Promise<LeaseLock> {
  const socket = new Socket();
  const client = createClient(options.url, {
    application_name: 'jobferry lease lock',
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    ...KEEP_ALIVE,
    stream: () => socket,
  });
  let reason: string | null = null;
  client.on('error', (error) => {
    // The first error is the cause. A second one only reports that the connection has ended.
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
    // A confirmation may be lost in a crash of the server, but must not wait for a standby that hangs.
    // A locked table must not hold up the confirmation: the client would give up session after session.
    await client.query(`set synchronous_commit = off; set lock_timeout = '${LOCK_TIMEOUT_MS}ms'`);
    const confirmation = await confirm(client, workerId, options.url, false);
    if (confirmation === 'gone') throw new Error('the server does not have the lock that was just taken');
    if (former !== null) {
      await endSession(client, former, options.log).catch((error: unknown) => {
        // Not fatal: the new lock is held.
        options.log.warn({ err: error, workerId }, 'the old session of the lease lock could not be terminated');
      });
    }
    return {
      workerId,
      session,
      confirmation,
      lost,
      confirm: (isResting) => confirm(client, workerId, options.url, isResting),
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

/**
 * @returns a number that no other process uses: after a failover that lost commits, the sequence may return used ones
 */
async function newNumber(client: pg.Client): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ id: number; taken: boolean }>(
      `select id, pg_try_advisory_lock(${LOCK_CLASS}, id) as taken
         from (select nextval('jobferry_worker_id_seq')::integer as id offset 0) as number`,
    );
    if (rows[0]?.taken === true) return rows[0].id;
  }
}

/** Takes the shared lock on the number, and releases the exclusive lock if this session has it. */
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
 * Terminates only the exact former session of this process. After a failover that lost commits, another process could
 * have the same number, and both would keep terminating each other's sessions.
 */
async function endSession(client: pg.Client, { workerId, session }: LeaseLock, log: DatabaseLog): Promise<void> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.classid = ${LOCK_CLASS} and l.objid = $1
        and a.pid = $2 and a.backend_start = $3::timestamptz`,
    [workerId, session.pid, session.startedAt],
  );
  if (rowCount) log.warn({ workerId, serverPid: session.pid }, 'terminated the old session of the lease lock');
}

const IS_HELD = `
  select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
                         and classid = ${LOCK_CLASS} and objid = $1::integer and granted`;

const CONFIRM: Statement = {
  name: 'confirm-lease',
  text: `
    insert into lease_confirmation (worker_id, confirmed_at)
    select $1::integer, jobferry_now() where exists (${IS_HELD})
    on conflict (worker_id) do update set confirmed_at = jobferry_now()`,
};

/**
 * Writes nothing while there is no stored time, so a server at rest writes no log. A read-only one refuses it as well.
 */
const CONFIRM_AT_REST: Statement = {
  name: 'confirm-lease-at-rest',
  text: `
    with deleted as (delete from lease_confirmation where worker_id = $1::integer)
    select where exists (${IS_HELD})`,
};

async function confirm(
  client: pg.Client,
  workerId: number,
  url: Address,
  isResting: boolean,
): Promise<Confirmed | 'gone'> {
  try {
    const { rowCount } = await client.query({ ...(isResting ? CONFIRM_AT_REST : CONFIRM), values: [workerId] });
    return rowCount === 1 ? 'confirmed' : 'gone';
  } catch (error) {
    // A read-only server still has the lock.
    if (!(error instanceof pg.DatabaseError)) throw error;
    const { rowCount } = await client.query(IS_HELD, [workerId]);
    if (rowCount !== 1) return 'gone';
    if (isReadOnly(error) && (await canNewSessionWrite(url))) {
      throw new Error('the session is read-only, and new ones are not', { cause: error });
    }
    return { unwritable: error.message };
  }
}

/**
 * A session that began while the default of its role or database was read-only stays so:
 * then another one has to take the lock.
 */
async function canNewSessionWrite(url: Address): Promise<boolean> {
  const limits = { connectionTimeoutMillis: NEW_SESSION_MS, query_timeout: NEW_SESSION_MS };
  const client = createClient(url, { application_name: 'jobferry', ...limits });
  client.on('error', () => undefined);
  const connected = client
    .connect()
    .then(() => client.query<{ writable: boolean }>(WRITABLE.text))
    .then(({ rows }) => rows[0]?.writable === true)
    .catch(() => false);
  const writable = await Promise.race([connected, sleep(NEW_SESSION_MS, false, { ref: false })]);
  void client.end().catch(() => undefined);
  return writable;
}

/** Numbers of the workers whose lease lock this server has. */
export const HELD_LOCKS = `
  select distinct objid::integer as worker_id from pg_locks
   where locktype = 'advisory' and classid = ${LOCK_CLASS} and granted
     and database = (select oid from pg_database where datname = current_database())`;

/**
 * A worker without a lock has stopped claiming if its last confirmation is at least `least` seconds old by the server's
 * clock. A confirmation older than `most` proves nothing, because that clock may have been set forward.
 */
export const SILENT_SECONDS = { least: 3, most: 30 };

/** Whether the worker of the row `job` may still believe in its lock: the server confirmed it too recently. */
export const IS_RECENTLY_CONFIRMED = `
  exists (select from lease_confirmation as recent
           where recent.worker_id = job.worker_id
             and recent.confirmed_at between jobferry_now() - interval '${SILENT_SECONDS.least} s' and jobferry_now())`;

const LEASE_LOCKS: Statement = {
  name: 'lease-locks',
  text: `
    with held as materialized (${HELD_LOCKS})
    select worker_id, true as held from held
    union all
    select worker_id, false from lease_confirmation
     where worker_id not in (select worker_id from held)
       and confirmed_at between jobferry_now() - interval '${SILENT_SECONDS.most} s'
                            and jobferry_now() - interval '${SILENT_SECONDS.least} s'`,
};

interface LeaseLocks {
  /** Numbers of the workers whose lease lock the queried server has. */
  held: Set<number>;
  /** Numbers of the workers without a lock whose last confirmation is 3 to 30 s old. */
  silent: number[];
}

export async function leaseLocks(db: Database): Promise<LeaseLocks> {
  const rows = await db.query<{ worker_id: number; held: boolean }>(LEASE_LOCKS);
  return {
    held: new Set(rows.flatMap((row) => (row.held ? [row.worker_id] : []))),
    silent: rows.flatMap((row) => (row.held ? [] : [row.worker_id])),
  };
}

const FORGET: Statement = {
  name: 'forget-confirmations',
  text: `
    delete from lease_confirmation
     where worker_id = any ($1) or confirmed_at < jobferry_now() - interval '1 hour'`,
};

/** Deletes the confirmations of dead workers, and those older than an hour. A live worker stores a new one. */
export async function forgetConfirmations(db: Database, workerIds: readonly number[]): Promise<void> {
  await db.query(FORGET, [workerIds]);
}

// Reads all jobs in flight by their partial index, so it does not run at every poll: see worker/lease/lock-watch.
const CLAIMING: Statement = {
  name: 'claiming-workers',
  text: `select distinct worker_id from job where status = 'processing'`,
};

/** @returns numbers of the workers that have claims */
export async function workersWithClaims(db: Database): Promise<number[]> {
  const rows = await db.query<{ worker_id: number }>(CLAIMING);
  return rows.map((row) => row.worker_id);
}

/** Workers listen on this channel. */
export const DEAD_CHANNEL = 'jobferry_dead_workers';

/**
 * Notifies workers that their claims were taken back. A worker that receives this has lost its lock without noticing.
 */
export async function notifyDead(db: Database, workerIds: readonly number[]): Promise<void> {
  await notify(db, DEAD_CHANNEL, [workerIds.join(' ')]);
}

/** Whether a message of `notifyDead` names the worker. */
export function namesWorker(message: string, workerId: number): boolean {
  return message.split(' ').includes(String(workerId));
}
