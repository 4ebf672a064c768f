import { firstIdAt } from '../../domain/id.ts';
import type { JobStateName } from '../../domain/job-filter.ts';
import type { Statement } from '../connection/database.ts';
import { maxOf, minOf, type Search } from './scan.ts';

export interface JobTimelineRow {
  /** Start of the bucket in milliseconds. */
  at: number;
  state: JobStateName;
  n: number;
}

interface Spans {
  fromMs: number;
  toMs: number;
  bucketMs: number;
}

/** Ranges of an index that one statement reads: one for each queue and bucket, about 10 µs each. */
const MAX_RANGES = 20_000;

/** Whether jobs can be counted by bucket with one statement. */
export function isCountable({ queueIds }: Search, { fromMs, toMs, bucketMs }: Spans): boolean {
  return queueIds.length * ((toMs - fromMs) / bucketMs) <= MAX_RANGES;
}

// All jobs of a bucket, less those of every other state, are completed. All jobs and dead ones have an index in the
// order of ids, which is read once for each queue and bucket. The others are few, or their index has another order, so
// each is assigned to its bucket. Ids are compared together with the queue, or with "is true", so that no plan reads
// other queues.
const BY_INDEX: Statement = {
  name: 'job-timeline',
  text: `
    with span as materialized (
      select n::integer as n, first, below from unnest($2::text[], $3::text[]) with ordinality as s(first, below, n)
    ), counted as (
      select span.n, jobs.every, jobs.dead
        from unnest($1::text[]) as q(id) cross join span
       cross join lateral (
         select (select count(*) from job j
                  where (j.queue_id, j.id) >= (q.id, span.first) and (j.queue_id, j.id) < (q.id, span.below)) as every,
                (select count(*) from job j
                  where j.status = 'dead'
                    and (j.queue_id, j.id) >= (q.id, span.first) and (j.queue_id, j.id) < (q.id, span.below)) as dead
         offset 0) jobs
    ), open as (
      select jobs.n, sum(jobs.due) as due, sum(jobs.later) as later, sum(jobs.retrying) as retrying, sum(jobs.held) as held,
             sum(jobs.processing) as processing, sum(jobs.awaiting_ack) as awaiting_ack
        from unnest($1::text[]) as q(id)
       cross join (select to_timestamp($4::float8 / 1000)::timestamptz(3) as now) m
       cross join lateral (
         select width_bucket(j.id, $2::text[]) as n, count(*) filter (where j.scheduled_for <= m.now) as due,
                count(*) filter (where j.scheduled_for > m.now) as later, 0 as retrying, 0 as held, 0 as processing,
                0 as awaiting_ack
           from job j where j.queue_id = q.id and j.status = 'pending' and (j.id >= $5 and j.id < $6) is true
          group by 1
         union all
         select width_bucket(j.id, $2::text[]), 0, 0, count(*) filter (where j.wait_reason = 'backoff'),
                count(*) filter (where j.wait_reason = 'hold'), 0, 0
           from job j
          where j.queue_id = q.id and j.status = 'pending' and j.wait_reason is not null and j.scheduled_for > m.now
            and (j.id >= $5 and j.id < $6) is true
          group by 1
         union all
         select width_bucket(j.id, $2::text[]), 0, 0, 0, 0, count(*) filter (where j.status = 'processing'),
                count(*) filter (where j.status = 'awaiting_ack')
           from job j
          where j.queue_id = q.id and j.status in ('processing', 'awaiting_ack') and (j.id >= $5 and j.id < $6) is true
          group by 1) jobs
       group by jobs.n
    )
    select span.n, coalesce(open.due, 0)::float8 as due,
           coalesce(open.later - open.retrying - open.held, 0)::float8 as scheduled,
           coalesce(open.retrying, 0)::float8 as retrying, coalesce(open.held, 0)::float8 as held,
           coalesce(open.processing, 0)::float8 as processing, coalesce(open.awaiting_ack, 0)::float8 as awaiting_ack,
           coalesce(ended.dead, 0)::float8 as dead,
           (coalesce(ended.every, 0) - coalesce(ended.dead, 0) - coalesce(open.due, 0) - coalesce(open.later, 0)
             - coalesce(open.processing, 0) - coalesce(open.awaiting_ack, 0))::float8 as completed
      from span left join (select n, sum(every) as every, sum(dead) as dead from counted group by n) ended using (n)
                left join open using (n)`,
};

/**
 * Counts the jobs of the queues by bucket and state, by indexes alone. Jobs past retention are left out.
 * @param search without conditions besides queue and creation time
 */
export async function countByIndex(search: Search, { fromMs, toMs, bucketMs }: Spans): Promise<JobTimelineRow[]> {
  const { range, earliest, queueIds, now } = search;
  const from = maxOf(range.from, earliest);
  const within = (id: string) => minOf(maxOf(id, from), maxOf(range.below, from));
  const firstMs = Math.floor(fromMs / bucketMs) * bucketMs;
  const starts = Array.from({ length: Math.ceil((toMs - firstMs) / bucketMs) }, (_, n) => firstMs + n * bucketMs);
  if (starts.length === 0 || queueIds.length === 0 || from >= range.below) return [];
  const firsts = starts.map((at) => within(firstIdAt(at)));
  const belows = starts.map((at) => within(firstIdAt(at + bucketMs)));
  const rows = await search.query<Record<JobStateName, number> & { n: number }>(BY_INDEX, [
    ...[queueIds, firsts, belows, now],
    ...[firsts[0], belows.at(-1)],
  ]);
  return rows.flatMap(({ n, ...states }) =>
    Object.entries(states).map(([state, count]) => ({
      at: firstMs + (n - 1) * bucketMs,
      state: state as JobStateName,
      n: count,
    })),
  );
}
