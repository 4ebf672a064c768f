import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database, DatabaseLog, Statement } from '../connection/database.ts';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';
import { notify } from '../connection/notifications.ts';
import type { OriginGuard } from '../connection/origin.ts';

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
  /** The first answer, when the lock was taken. */
  readonly confirmation: Confirmed;
  /** Resolves with the reason when the connection is known to be gone. That it is open proves nothing: see `confirm`. */
  readonly lost: Promise<string>;
  /**
   * Asks the server whether it has the lock, on this connection. Others conclude from the time that the server notes then
   * that the process is dead, so what could not be noted is no confirmation. Rejects when the connection ends meanwhile.
   */
  confirm(): Promise<Confirmed | 'gone'>;
  /** Gives the lock back. Resolves within a second, even when the server does not answer. */
  release(): Promise<void>;
  /** Closes the connection at once, without a word to a server that may not answer. */
  drop(): void;
}

/** `unwritable`: the server has the lock, and says why it cannot note it. */
type Confirmed = 'confirmed' | { unwritable: string };

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
    // What is noted may be lost with the server, but may not wait for a standby that hangs.
    await client.query('set synchronous_commit = off');
    const confirmation = await confirm(client, workerId);
    if (confirmation === 'gone') throw new Error('the server that was asked does not have the lock');
    if (former !== null) {
      await endSession(client, former, options.log).catch((error: unknown) => {
        // The new lock is what matters.
        options.log.warn({ err: error, workerId }, 'the old session of the lease lock could not be ended');
      });
    }
    return {
      ...{ workerId, session, confirmation, lost },
      confirm: () => confirm(client, workerId),
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
  select from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
                         and classid = ${LOCK_CLASS} and objid = $1::integer and granted`;

const CONFIRM = `
  insert into lease_confirmation (worker_id, confirmed_at)
  select $1::integer, jobferry_now() where exists (${IS_HELD})
  on conflict (worker_id) do update set confirmed_at = excluded.confirmed_at`;

async function confirm(client: pg.Client, workerId: number): Promise<Confirmed | 'gone'> {
  try {
    const { rowCount } = await client.query(CONFIRM, [workerId]);
    return rowCount === 1 ? 'confirmed' : 'gone';
  } catch (error) {
    // A read-only server has locks as any other.
    if (!(error instanceof pg.DatabaseError)) throw error;
    const { rowCount } = await client.query(IS_HELD, [workerId]);
    return rowCount === 1 ? { unwritable: error.message } : 'gone';
  }
}

/** Numbers of the workers whose lease lock this server has. */
export const HELD_LOCKS = `
  select distinct objid::integer as worker_id from pg_locks
   where locktype = 'advisory' and classid = ${LOCK_CLASS} and granted
     and database = (select oid from pg_database where datname = current_database())`;

/**
 * After so long without a confirmation, by the server's clock, a worker without a lock has stopped claiming. What is much
 * older proves nothing, because that clock may have been set forward.
 */
const SILENT_SECONDS = { least: 3, most: 30 };

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

export interface LeaseLocks {
  /** Numbers of the workers whose lease lock the server has that is asked. */
  held: Set<number>;
  /** Of those whose lock it does not have, and has not confirmed for three seconds, though lately. */
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

/** Forgets when locks of dead workers were confirmed, and of those that nobody saw die. A worker that lives notes it again. */
export async function forgetConfirmations(db: Database, workerIds: readonly number[]): Promise<void> {
  await db.query(FORGET, [workerIds]);
}

// Reads what is in flight by its partial index, so it is not for every look: see worker/lease/liveness.
const CLAIMING: Statement = {
  name: 'claiming-workers',
  text: `select distinct worker_id from job where status = 'processing'`,
};

/** Numbers of the workers that have claims. */
export async function workersWithClaims(db: Database): Promise<number[]> {
  const rows = await db.query<{ worker_id: number }>(CLAIMING);
  return rows.map((row) => row.worker_id);
}

/** Workers listen on this channel. */
export const DEAD_CHANNEL = 'jobferry_dead_workers';

/** Notifies workers that their claims were taken back: one that receives it has lost its lock without noticing. */
export async function notifyDead(db: Database, workerIds: readonly number[]): Promise<void> {
  await notify(db, DEAD_CHANNEL, [workerIds.join(' ')]);
}

/** Whether a message of `notifyDead` names the worker. */
export function namesWorker(message: string, workerId: number): boolean {
  return message.split(' ').includes(String(workerId));
}
