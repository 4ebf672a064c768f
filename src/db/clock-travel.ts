import type { Database, Statement } from './connection/database.ts';

/**
 * The database's clock of a server for development or tests, which can be ahead of the machine's. Every statement takes
 * its time from `jobferry_now()`, so this function is replaced.
 */

/** How far ahead this process has last seen or set the clock. It moves by this process only. */
const known = new WeakMap<Database, number>();

/** @returns how far the clock is ahead, as far as this process knows, in milliseconds */
export function knownAheadMs(db: Database): number {
  return known.get(db) ?? 0;
}

/** @returns how far the clock is ahead, in milliseconds */
export async function clockAheadMs(db: Database): Promise<number> {
  const row = await db.one<{ source: string }>(
    `select prosrc as source from pg_proc where oid = 'jobferry_now()'::regprocedure`,
  );
  const ms = Number(/interval '(-?\d+) ms'/.exec(row?.source ?? '')?.[1] ?? 0);
  known.set(db, ms);
  return ms;
}

/** Sets how far the clock is ahead. The server plans its statements again. */
export async function setClockAhead(db: Database, ms: number): Promise<void> {
  if (!Number.isSafeInteger(ms)) throw new TypeError(`${ms} is no number of milliseconds`);
  const ahead = ms === 0 ? '' : ` + interval '${ms} ms'`;
  await db.query(`create or replace function jobferry_now() returns timestamptz
    language sql volatile parallel safe
    as $$ select date_trunc('milliseconds', clock_timestamp()${ahead}) $$`);
  known.set(db, ms);
}

/**
 * The next moments at which something happens to a job of the account,
 * and the jobs for which something happens already.
 */
export interface NextMoment {
  /** `pending`: a job that waits; why is to be asked. The others name what happens at the time. */
  kind: 'pending' | 'in_flight' | 'ack_deadline' | 'lifetime';
  jobId: string;
  queue: string;
  at: Date;
}

/** Queues and jobs of each that are looked at. */
const MAX_QUEUES = 1000;
const MAX_JOBS = 20;

const MOMENTS: Statement = {
  name: 'next-moments',
  text: `
    with mine as materialized (
      select id, name, paused_at, lifetime_floor from queue where account_id = $1 and deleted_at is null order by id limit ${MAX_QUEUES}
    )
    select 'pending' as kind, j.id as "jobId", mine.name as queue, j.scheduled_for as at
      from mine cross join lateral (
        select id, scheduled_for from job where queue_id = mine.id and status = 'pending'
         order by queue_id, scheduled_for, id limit ${MAX_JOBS}) j
    union all
    select case j.status when 'processing' then 'in_flight' else 'ack_deadline' end, j.id, mine.name, j.deadline
      from mine cross join lateral (
        select id, status, deadline from jobferry_flying(mine.id) order by deadline limit ${MAX_JOBS}) j
    union all
    select 'lifetime', j.id, mine.name, greatest(j.deliver_by, mine.lifetime_floor)
      from mine cross join lateral (
        select id, deliver_by from job where queue_id || '' = mine.id and status = 'pending'
         order by queue_id || '', deliver_by limit 1) j
     where mine.paused_at is null`,
};

export async function nextMoments(db: Database, accountId: string): Promise<NextMoment[]> {
  return db.query<NextMoment & Record<string, unknown>>(MOMENTS, [accountId]);
}
