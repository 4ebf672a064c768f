import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { repeat } from '../../pacing/repeat.ts';
import { type Address, createClient } from '../connection/address.ts';
import { sqlStateOf } from '../connection/database.ts';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';

/**
 * A statement that waits for the lock of a whole table holds up all later statements on that table, so a migration that
 * waits for a backup would stop deliveries until the backup has ended. A migration therefore waits for a short time
 * only, gives its locks back, and tries again when the sessions that were in its way have ended their transactions.
 */

/**
 * Longest wait for one lock. Longer than PostgreSQL's default `deadlock_timeout`, after which it cancels an autovacuum
 * that is in the way; shorter than the statements of deliveries may take (4 s).
 */
const LOCK_TIMEOUT_MS = 1200;
/** How often the sessions that are in the way are read while a migration runs. */
const READ_EVERY_MS = 300;
/** Between two tries: time for what has waited meanwhile. */
const PAUSE_MS = 1000;
/** Longest wait for the other sessions between two tries. */
const MAX_PAUSE_MS = 30_000;

/** lock_not_available, deadlock_detected */
const LOST_FOR_LOCKS = new Set(['55P03', '40P01']);

/** A session that has a lock for which a migration waits. */
interface Blocker {
  /** 0 for a prepared transaction, which has no session. */
  pid: number;
  /** Name of its program, such as `pg_dump`. */
  name: string;
  user: string | null;
  /** Start of its transaction; null if this user may not see it. */
  since: Date | null;
}

interface LockWaitLog {
  warn(fields: object, message: string): void;
}

/**
 * Opens a second connection, which reads what the migration waits for.
 * @returns null if the server has none to spare
 */
export async function openWatcher(url: Address): Promise<pg.Client | null> {
  const watcher = createClient(url, { application_name: 'jobferry migrate watcher', ...KEEP_ALIVE });
  watcher.on('error', () => undefined);
  return watcher.connect().then(
    () => watcher,
    () => null,
  );
}

/**
 * Runs a migration, which is one transaction, until it got its locks.
 * @param watcher another connection to the same database
 * @throws every error of the migration except those for lack of a lock
 */
export async function untilLocked(
  client: pg.Client,
  { watcher, log, migration }: { watcher: pg.Client | null; log: LockWaitLog; migration: string },
  apply: () => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const blockers = await tryOnce(client, watcher, log, apply);
    if (blockers === null) return;
    log.warn(
      { migration, tries, blockedBy: blockers },
      'a migration waits until other sessions have ended their transactions; deliveries go on meanwhile',
    );
    await untilEnded(client, blockers);
  }
}

/** Limits the waits of the running transaction. */
export async function limitLockWaits(client: pg.Client): Promise<void> {
  await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
}

/** @returns null when the work is done; otherwise the sessions that were in its way, as far as they are known */
async function tryOnce(
  client: pg.Client,
  watcher: pg.Client | null,
  log: LockWaitLog,
  apply: () => Promise<void>,
): Promise<Blocker[] | null> {
  const pid = await pidOf(client);
  let blockers: Blocker[] = [];
  const reading = repeat(READ_EVERY_MS, log, 'reading what a migration waits for', async () => {
    const present = watcher === null ? [] : await blockersOf(watcher, pid);
    if (present.length > 0) blockers = present;
  });
  try {
    await apply();
    return null;
  } catch (error) {
    if (!LOST_FOR_LOCKS.has(sqlStateOf(error) ?? '')) throw error;
    return blockers;
  } finally {
    await reading.stop();
  }
}

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
}

async function blockersOf(watcher: pg.Client, pid: number): Promise<Blocker[]> {
  const { rows } = await watcher.query<Blocker>(
    `select blocker.pid, a.usename as user, a.xact_start as since,
            case when blocker.pid = 0 then 'prepared transaction'
                 else coalesce(nullif(a.application_name, ''), a.backend_type, 'unknown') end as name
       from (select distinct unnest(pg_blocking_pids($1)) as pid) blocker
       left join pg_stat_activity a on a.pid = blocker.pid order by blocker.pid`,
    [pid],
  );
  return rows;
}

/**
 * Waits until these sessions have no lock of a table any more. This waits for no lock, so it holds up no other session.
 */
async function untilEnded(client: pg.Client, blockers: readonly Blocker[]): Promise<void> {
  const pids = blockers.map(({ pid }) => pid);
  for (let waited = PAUSE_MS; waited <= MAX_PAUSE_MS; waited += PAUSE_MS) {
    await sleep(PAUSE_MS);
    const { rows } = await client.query<{ held: boolean }>(
      `select exists (
         select from pg_locks l join pg_class c on c.oid = l.relation
          where l.pid = any ($1::integer[]) and l.granted and c.relnamespace = current_schema()::regnamespace
            and l.database = (select oid from pg_database where datname = current_database())) as held`,
      [pids],
    );
    if (rows[0]?.held !== true) return;
  }
}
