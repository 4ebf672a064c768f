import type { Database, Statement } from './database.ts';

/** Rows per statement: small enough that nobody waits for the sweep, and it ends within the time-out. */
const BATCH = 500;

// Ids grow with time: the jobs past retention are the low end of the primary key. An array and not a
// join: for a batch that is a good part of a small table, a join would read all of it.
const JOBS: Statement = {
  name: 'sweep-jobs',
  text: `
    with swept as (
      delete from job where id = any (array(
        select id from job where id > $2 and id < jobferry_first_id((select jobferry_now()) - $1 * interval '1 ms')
         order by id limit ${BATCH} for update skip locked))
      returning id
    ), attempts as (
      delete from attempt where job_id = any (array(select id from swept))
    )
    select id from swept`,
};

// Not together with their jobs: an index that is behind may write one when its job is gone.
const SEARCH_DOCUMENTS: Statement = {
  name: 'sweep-search-documents',
  text: `
    delete from job_search where job_id = any (array(
      select job_id from job_search
       where job_id > $2 and job_id < jobferry_first_id((select jobferry_now()) - $1 * interval '1 ms')
       order by job_id limit ${BATCH} for update skip locked))
    returning job_id as id`,
};

// A tombstone answers "410 Gone" until its last job is past retention (D17).
const QUEUES: Statement = {
  name: 'sweep-queues',
  text: `
    delete from queue where id in (
      select q.id from queue q
       where q.deleted_at is not null and not exists (select from job j where j.queue_id = q.id) limit ${BATCH})
    returning 1 as swept`,
};

const DEAD_LETTERS: Statement = {
  name: 'sweep-dead-letters',
  text: `
    delete from dead_letter where id = any (array(
      select d.id from dead_letter d where d.queue_id = $1 order by d.id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

// A year, and a day for the leap.
const AUDIT: Statement = {
  name: 'sweep-audit',
  text: `
    delete from audit_entry where id = any (array(
      select id from audit_entry where id < jobferry_first_id((select jobferry_now()) - interval '366 days')
       order by id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

// Thirty days from their end.
const BULK_ACTIONS: Statement = {
  name: 'sweep-bulk-actions',
  text: `
    delete from bulk_action where id = any (array(
      select id from bulk_action
       where id < jobferry_first_id((select jobferry_now()) - interval '30 days')
         and finished_at < (select jobferry_now()) - interval '30 days'
       order by id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
};

/** Removes bulk actions that ended long ago; true when more is left. */
export async function sweepBulkActions(db: Database): Promise<boolean> {
  return (await db.query(BULK_ACTIONS)).length === BATCH;
}

const statistics = (table: string, bucket: string): Statement => ({
  name: `sweep-${table}`,
  text: `
    delete from ${table} where (queue_id, ${bucket}) in (
      select queue_id, ${bucket} from ${table}
       where ${bucket} < jobferry_bucket((select jobferry_now()) - $1 * interval '1 ms') limit ${BATCH})
    returning 1 as swept`,
});
const STATS = statistics('queue_stats', 'bucket');
const COMPLETED = statistics('queue_completed', 'created_bucket');

/** Removes statistics of what is past retention; true when more is left. */
export async function sweepStatistics(db: Database, retentionMs: number): Promise<boolean> {
  const stats = await db.query(STATS, [retentionMs]);
  const completed = await db.query(COMPLETED, [retentionMs]);
  return stats.length === BATCH || completed.length === BATCH;
}

/** Removes old entries of the audit log; true when more is left. */
export async function sweepAudit(db: Database): Promise<boolean> {
  return (await db.query(AUDIT)).length === BATCH;
}

/**
 * How far a sweep has come, as ids of jobs. A batch that began at the low end again would pass all that is removed but
 * still kept for somebody's old snapshot: with 188 000 such rows it took seven times as long (docs/decisions/0009).
 */
export interface SweepPosition {
  job: string;
  document: string;
}

/** The low end: what was held by somebody during one sweep is found by the next. */
export const SWEEP_START: SweepPosition = { job: '', document: '' };

/** Removes a batch of jobs past retention with all that is about them, and empty tombstones; null when none is left. */
export async function sweepRetention(
  db: Database,
  retentionMs: number,
  from: SweepPosition,
): Promise<SweepPosition | null> {
  const jobs = await db.query<{ id: string }>(JOBS, [retentionMs, from.job]);
  const documents = await db.query<{ id: string }>(SEARCH_DOCUMENTS, [retentionMs, from.document]);
  const queues = await db.query(QUEUES);
  if (![jobs, documents, queues].some((swept) => swept.length === BATCH)) return null;
  return { job: lastOf(jobs, from.job), document: lastOf(documents, from.document) };
}

function lastOf(swept: readonly { id: string }[], before: string): string {
  return swept.reduce((last, { id }) => (id > last ? id : last), before);
}

/** Removes a batch of a deleted queue's dead letters (D17); true when more is left. */
export async function sweepDeadLetters(db: Database, queueId: string): Promise<boolean> {
  return (await db.query(DEAD_LETTERS, [queueId])).length === BATCH;
}
