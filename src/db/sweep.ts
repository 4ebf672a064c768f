import type { Database, Statement } from './database.ts';

/** Rows per statement: small enough that nobody waits for the sweep, and it ends within the time-out. */
const BATCH = 500;

// Ids grow with time: the jobs past retention are the low end of the primary key. An array and not a
// join: for a batch that is a good part of a small table, a join would read all of it.
const JOBS: Statement = {
  name: 'sweep-jobs',
  text: `
    delete from job where id = any (array(
      select id from job where id < jobferry_first_id((select jobferry_now()) - $1 * interval '1 ms')
       order by id limit ${BATCH} for update skip locked))
    returning 1 as swept`,
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

/** Removes jobs past retention with their history and dead letters, then empty tombstones; true when more is left. */
export async function sweepRetention(db: Database, retentionMs: number): Promise<boolean> {
  const jobs = await db.query(JOBS, [retentionMs]);
  const queues = await db.query(QUEUES);
  return jobs.length === BATCH || queues.length === BATCH;
}

/** Removes a batch of a deleted queue's dead letters (D17); true when more is left. */
export async function sweepDeadLetters(db: Database, queueId: string): Promise<boolean> {
  return (await db.query(DEAD_LETTERS, [queueId])).length === BATCH;
}
