import type { Database, Statement } from '../connection/database.ts';

/** Usage by queue and month: sums of the statistics of five minutes, which are removed much earlier. */

/** Statistics that one statement adds. A thousand busy queues have 72 000 rows in it. */
const SPAN = `interval '6 h'`;

// The position says where to begin. A row has the moment up to which it is counted, too: so nothing counts twice if the
// position is lost, as in a restored backup, or if two processes add at once.
const ADD: Statement = {
  name: 'add-queue-usage',
  text: `
    with ends as materialized (
      select jobferry_bucket(jobferry_stats_until($1 * interval '1 ms')) as until
    ), span as materialized (
      select starts.first, least(starts.first + ${SPAN}, ends.until) as last, ends.until
        from ends cross join lateral (
          select greatest((select to_timestamp(position::float8 / 1000) from follower where name = 'queue-usage'),
                          (select bucket from queue_stats order by bucket limit 1)) as first) starts
       where starts.first < ends.until
    ), counted as materialized (
      select q.account_id, jobferry_month(s.bucket) as month, q.id, q.name, sum(s.success) as success,
             sum(s.failed + s.nacked) as failed, sum(s.deferred) as deferred
        from span cross join queue_stats s join queue q on q.id = s.queue_id
        left join queue_usage u on u.account_id = q.account_id and u.month = jobferry_month(s.bucket) and u.queue_id = q.id
       where s.bucket >= span.first and s.bucket < span.last and (u.counted_until is null or s.bucket >= u.counted_until)
       group by 1, 2, 3, 4
    ), stored as (
      insert into queue_usage as u (account_id, month, queue_id, queue_name, success, failed, deferred, counted_until)
      select c.account_id, c.month, c.id, c.name, c.success, c.failed, c.deferred, span.last
        from counted c cross join span order by 1, 2, 3
      on conflict (account_id, month, queue_id) do update
        set queue_name = excluded.queue_name, success = u.success + excluded.success, failed = u.failed + excluded.failed,
            deferred = u.deferred + excluded.deferred, counted_until = excluded.counted_until
        where u.counted_until < excluded.counted_until
    ), moved as (
      insert into follower as f (name, position)
      select 'queue-usage', floor(extract(epoch from last) * 1000)::bigint::text from span
      on conflict (name) do update set position = excluded.position, updated_at = jobferry_now()
    )
    select last < until as more from span`,
};

/** Adds the next statistics that are complete. @returns whether more are left */
export async function addQueueUsage(db: Database, retentionMs: number): Promise<boolean> {
  return (await db.one<{ more: boolean }>(ADD, [retentionMs]))?.more ?? false;
}

/** Attempts of a queue that ended in a month. */
export interface QueueUsage {
  queueId: string;
  queueName: string;
  succeeded: number;
  /** With those that a worker nacked, or whose ack deadline passed. */
  failed: number;
  deferred: number;
}

export interface UsageByQueue {
  /** Moment up to which attempts are counted; null before the first sums. */
  countedUntil: Date | null;
  /** The ones with the most attempts. */
  queues: QueueUsage[];
  /** Queues beyond them, and their attempts. */
  otherQueues: number;
  otherAttempts: number;
}

const BY_QUEUE: Statement = {
  name: 'usage-by-queue',
  text: `
    with own as materialized (
      select queue_id, queue_name, success, failed, deferred, success + failed + deferred as attempts
        from queue_usage where account_id = $1 and month = $2
    ), most as materialized (
      select * from own order by attempts desc, queue_id limit $3
    )
    select (select to_timestamp(position::float8 / 1000) from follower where name = 'queue-usage') as "countedUntil",
           (select coalesce(json_agg(json_build_object('queueId', queue_id, 'queueName', queue_name, 'succeeded', success,
                                                       'failed', failed, 'deferred', deferred)
                                     order by attempts desc, queue_id), '[]') from most) as queues,
           (select count(*) from own)::float8 - (select count(*) from most)::float8 as "otherQueues",
           (select coalesce(sum(attempts), 0) from own)::float8
             - (select coalesce(sum(attempts), 0) from most)::float8 as "otherAttempts"`,
};

/** @param month YYYY-MM in UTC @param limit queues that are returned one by one */
export async function usageByQueue(
  db: Database,
  accountId: string,
  month: string,
  limit: number,
): Promise<UsageByQueue> {
  const row = await db.one<UsageByQueue & Record<string, unknown>>(BY_QUEUE, [accountId, month, limit]);
  if (row === null) throw new Error('the usage by queue returned no row');
  return row;
}
