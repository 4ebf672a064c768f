import type { Database, Statement } from '../connection/database.ts';

const QUEUES: Statement = {
  name: 'queues-with-bookmarks',
  text: 'select distinct queue_id as id from queue_bookmark where queue_id > $1 order by queue_id limit $2',
};

/** @returns ids of the next queues that have a bookmark */
export async function queuesWithBookmarks(db: Database, after: string, limit: number): Promise<string[]> {
  return (await db.query<{ id: string }>(QUEUES, [after, limit])).map(({ id }) => id);
}

// Within one snapshot, so what is found is wrong, whatever is claimed meanwhile.
const CHECK: Statement = {
  name: 'check-bookmark',
  text: `
    with b as materialized (select * from queue_bookmark where queue_id = $1 order by number desc limit 1),
    wrong as materialized (
      select b.queue_id from b
       where (select j.scheduled_for from job j where j.queue_id = b.queue_id and j.status = 'pending'
               order by j.queue_id, j.scheduled_for, j.id limit 1) < b.due
          or (select j.deliver_by from job j where j.queue_id || '' = b.queue_id and j.status = 'pending'
               order by j.queue_id || '', j.deliver_by limit 1) < b.ends
          or (select j.id from job j
               where j.queue_id = b.queue_id and j.status in ('processing', 'awaiting_ack')
                 and j.claim_token <= b.token and j.id <> all (b.early)
               order by j.queue_id, j.claim_token limit 1) is not null
    )
    delete from queue_bookmark where queue_id = any (array(select queue_id from wrong)) returning 1`,
};

/**
 * Deletes the bookmark of a queue if a job is before it (docs/decisions/0059): claims do not see such a job. A
 * transaction by hand may have stored it later than any statement of Jobferry, or the clock was set back.
 * @returns whether it was deleted
 */
export async function checkBookmark(db: Database, queueId: string): Promise<boolean> {
  return (await db.query(CHECK, [queueId])).length > 0;
}
