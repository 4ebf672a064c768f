import { firstIdAt } from '../../domain/id.ts';
import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { hasNoJob } from '../queues/without-jobs.ts';
import { outlastsRetention } from './kept.ts';

/** Rows per statement: few enough that other statements are not delayed, and that it ends within the time-out. */
const BATCH = 500;

/** @returns SQL: the time of the sweep, from a parameter in milliseconds that the clock watch trusts */
const at = (parameter: string) => `to_timestamp(${parameter}::float8 / 1000)::timestamptz(3)`;

// Ids grow with time, so the jobs past retention are at the low end of the primary key. Arrays instead of joins: for a
// batch that is a large part of a small table, a join would scan the table.
const JOBS: Statement = {
  name: 'sweep-jobs',
  text: `
    with looked as materialized (
      select j.id, ${outlastsRetention({
        now: at('$3'),
        retention: `$4 * interval '1 ms'`,
        lifetime: `$5 * interval '1 ms'`,
      })} is not true as is_over
        from job j where j.id > $1 and j.id < $2 order by j.id limit ${BATCH}
    ), swept as (
      delete from job where id = any (array(
        select id from job where id = any (array(select id from looked where is_over)) order by id for update skip locked))
      returning id
    ), attempts as (
      delete from attempt where job_id = any (array(select id from swept))
    ), documents as (
      delete from job_search where job_id = any (array(select id from swept))
    ), notes as (
      delete from bulk_action_job where job_id = any (array(select id from swept))
    )
    select (select count(*) from looked) as looked, (select max(id) from looked) as last,
           (select count(*) from swept) as swept`,
};

// A payload index that is behind may write the search document of a job while the sweep removes the job.
const SEARCH_DOCUMENTS: Statement = {
  name: 'sweep-search-documents',
  text: `
    with looked as materialized (
      select job_id as id from job_search where job_id > $1 and job_id < $2 order by job_id limit ${BATCH}
    ), swept as (
      delete from job_search where job_id = any (array(
        select looked.id from looked where not exists (select from job j where j.id = looked.id offset 0)))
      returning job_id
    )
    select (select count(*) from looked) as looked, (select max(id) from looked) as last,
           (select count(*) from swept) as swept`,
};

/** Tables that are swept in the order of ids. Their rows may stay because a job has not ended. */
export const SWEPT_BY_ID = ['jobs', 'documents'] as const;
export type SweptById = (typeof SWEPT_BY_ID)[number];

export interface SweptBatch {
  looked: number;
  swept: number;
  /** Id of the last row that was checked; null when there was none. */
  last: string | null;
}

/** Ids between `after` and `below`, both exclusive. */
export interface SweepRange {
  after: string;
  below: string;
}

/** @returns the id below which rows are past retention */
export function sweepsBelow(nowMs: number, { retentionMs }: Periods): string {
  return firstIdAt(nowMs - retentionMs);
}

/**
 * Checks the next rows of a range, and removes those that are no longer kept (`db/retention/kept`) and what depends on
 * them.
 */
export async function sweepById(
  db: Database,
  what: SweptById,
  { after, below }: SweepRange,
  nowMs: number,
  periods: Periods,
): Promise<SweptBatch> {
  const row =
    what === 'jobs'
      ? await db.one<SweptBatch>(JOBS, [after, below, nowMs, periods.retentionMs, periods.lifetimeMs])
      : await db.one<SweptBatch>(SEARCH_DOCUMENTS, [after, below]);
  return row ?? { looked: 0, swept: 0, last: null };
}

/** Whether a batch was the last of its range. */
export function isLastBatch(batch: { looked: number }): boolean {
  return batch.looked < BATCH;
}

// The API answers "410 Gone" for a tombstone until its last job is removed (D17). Those of an account that is being
// deleted stay for its deletion, which first waits for publishes that began before, and counts them in its receipt. The
// others stay until such publishes have ended: a job that commits after the sweep of its queue could not be found, and
// would never end.
const QUEUES: Statement = {
  name: 'sweep-queues',
  text: `
    with looked as materialized (
      select id, account_id from queue
       where deleted_at < (select jobferry_now()) - interval '10 s' and id > $1 order by id limit ${BATCH}
    ), swept as (
      delete from queue where id = any (array(
        select looked.id from looked
         where ${hasNoJob('looked.id')}
           and not exists (select from account_deletion d where d.account_id = looked.account_id and d.finished_at is null)))
      returning id
    )
    select (select count(*) from looked) as looked, (select max(id) from looked) as last,
           (select count(*) from swept) as swept`,
};

/** Removes tombstones of queues that have no jobs any more. */
export async function sweepQueues(db: Database, after: string): Promise<SweptBatch> {
  return (await db.one<SweptBatch>(QUEUES, [after])) ?? { looked: 0, swept: 0, last: null };
}

// Row comparison: with "queue_id = $1" the planner would use the primary key, which has the dead letters of all queues.
const DEAD_LETTERS: Statement = {
  name: 'sweep-dead-letters',
  text: `
    delete from dead_letter where id = any (array(
      select d.id from dead_letter d where (d.queue_id, d.id) >= ($1, '') and (d.queue_id, d.id) < ($1, 'g')
       order by d.queue_id, d.id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

/** Removes a batch of a deleted queue's dead letters (D17). @returns true when more may be left */
export async function sweepDeadLetters(db: Database, queueId: string): Promise<boolean> {
  return (await db.query(DEAD_LETTERS, [queueId])).length === BATCH;
}

// Kept for a year, with one more day for leap years.
const AUDIT: Statement = {
  name: 'sweep-audit',
  text: `
    delete from audit_entry where id = any (array(
      select id from audit_entry where id < jobferry_first_id(${at('$1')} - interval '366 days')
       order by id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

// A dismissal has an effect until the last dead letter from before its end is past retention.
const DISMISSALS: Statement = {
  name: 'sweep-dismissals',
  text: `
    delete from dismissal where (account_id, fingerprint) in (
      select account_id, fingerprint from dismissal
       where until < ${at('$1')} - ($2::float8 + $3::float8) * interval '1 ms'
       order by until limit ${BATCH} for update skip locked)
    returning 1 as swept`,
};

// Kept for thirty days after their end.
const BULK_ACTIONS: Statement = {
  name: 'sweep-bulk-actions',
  text: `
    delete from bulk_action where id = any (array(
      select id from bulk_action
       where id < jobferry_first_id(${at('$1')} - interval '30 days')
         and finished_at < ${at('$1')} - interval '30 days'
       order by id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

// Kept for thirty days after their end; those of accounts with very many are removed before (`db/alerts/evaluation`).
const ALERTS: Statement = {
  name: 'sweep-alerts',
  text: `
    with alerts as (
      delete from alert where id = any (array(
        select id from alert where state = 'resolved' and resolved_at < ${at('$1')} - interval '30 days'
         order by resolved_at limit ${BATCH} for update skip locked))
      returning 1
    ), notifications as (
      delete from alert_notification where id = any (array(
        select id from alert_notification
         where id < jobferry_first_id(${at('$1')} - interval '30 days') and next_at is null
         order by id limit ${BATCH} for update skip locked))
      returning 1
    )
    select 1 as swept from alerts union all select 1 from notifications`,
};

// Ended sessions that no client has ended: expired, or of a revoked key. Links that were not used in time.
const SESSIONS: Statement = {
  name: 'sweep-sessions',
  text: `
    with over as (
      (select id from session where expires_at < ${at('$1')} order by expires_at limit ${BATCH})
      union
      (select session.id from session join api_key key on key.id = session.api_key_id
        where key.revoked_at is not null limit ${BATCH})
    ), swept as (
      delete from session where id = any (array(select id from session where id = any (array(select id from over))
                                                 order by id for update skip locked))
      returning 1
    ), links as (
      delete from sign_in_link where hash = any (array(
        select hash from sign_in_link where expires_at < ${at('$1')} limit ${BATCH} for update skip locked))
      returning 1
    )
    select 1 as swept from swept union all select 1 from links`,
};

// By their places: a join by their keys would read a whole table that PostgreSQL takes for small.
const statistics = (table: string, bucket: string): Statement => ({
  name: `sweep-${table}`,
  text: `
    delete from ${table} where ctid = any (array(
      select ctid from ${table}
       where ${bucket} < jobferry_bucket(${at('$1')} - $2 * interval '1 ms') limit ${BATCH}))
    returning 1 as swept`,
});
const STATS = statistics('queue_stats', 'bucket');
const COMPLETED = statistics('queue_completed', 'created_bucket');
// As long as the audit log: "which queue was it a year ago?"
const QUEUE_USAGE: Statement = {
  name: 'sweep-queue-usage',
  text: `
    delete from queue_usage where (account_id, month, queue_id) in (
      select account_id, month, queue_id from queue_usage
       where month < jobferry_month(${at('$1')} - interval '13 months') limit ${BATCH})
    returning 1 as swept`,
};

/** Tables whose rows are removed by time, and not by their position in a sweep. */
export const SWEPT_BY_TIME = ['statistics', 'audit', 'bulkActions', 'sessions', 'alerts'] as const;
export type SweptByTime = (typeof SWEPT_BY_TIME)[number];

/** Removes a batch of rows that are too old. @returns how many; unless it is 0, more may be left */
export async function sweepByTime(
  db: Database,
  what: SweptByTime,
  nowMs: number,
  { retentionMs, lifetimeMs }: Periods,
): Promise<number> {
  if (what === 'audit') {
    // Changes and decisions of people.
    const dismissals = await db.query(DISMISSALS, [nowMs, retentionMs, lifetimeMs]);
    return dismissals.length + (await db.query(AUDIT, [nowMs])).length;
  }
  if (what === 'bulkActions') return (await db.query(BULK_ACTIONS, [nowMs])).length;
  if (what === 'alerts') return (await db.query(ALERTS, [nowMs])).length;
  if (what === 'sessions') return (await db.query(SESSIONS, [nowMs])).length;
  const stats = await db.query(STATS, [nowMs, retentionMs]);
  const completed = await db.query(COMPLETED, [nowMs, retentionMs]);
  return stats.length + completed.length + (await db.query(QUEUE_USAGE, [nowMs])).length;
}
