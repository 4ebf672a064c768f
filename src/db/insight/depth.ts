import type { PartOfStatement, ValueName } from './queue-parts.ts';

/** Jobs of the oldest five minutes that are read one by one. */
const BOUNDARY = 2000;

// Jobs that are no longer kept are not counted, whether or not the sweep has removed them. Completed jobs are counted
// until their retention ends. The other states are counted by index-only scans of partial indexes. There can be a
// million completed jobs, so their counts come from the statistics, which have buckets of five minutes of creation
// time. In the bucket in which retention ends, jobs are read one by one. If there are too many, their number is
// estimated from the part of the five minutes that is left. Ages are compared with "is true", or together with the
// queue, so that no plan uses an index over all queues for them.
const retention = (value: (name: ValueName) => string) => `${value('retentionMs')} * interval '1 ms'`;

export const DEPTH: PartOfStatement = {
  with: (value) => [
    `moment as materialized (
      select now, now - ${retention(value)} as cutoff,
             jobferry_first_id(now - ${retention(value)}) as first_id,
             jobferry_bucket(now - ${retention(value)}) as boundary,
             jobferry_bucket(now - ${retention(value)}) + interval '300 s' as whole,
             jobferry_stats_until(${retention(value)}) as until
        from clock
    )`,
    `completed as materialized (
      select c.queue_id, sum(c.since)::bigint as whole, sum(c.before)::bigint as boundary
        from moment, lateral (
          select s.queue_id, case when s.created_bucket >= moment.whole then s.completed else 0 end as since,
                 case when s.created_bucket < moment.whole then s.completed else 0 end as before
            from queue_completed s
           where s.queue_id = any (array(select id from own)) and (s.created_bucket >= moment.boundary) is true
          union all
          select s.queue_id, s.since, s.before
            from jobferry_completed_since(moment.until, jobferry_first_id(moment.boundary),
                                          jobferry_first_id(moment.whole), array(select id from own)) s) c
       group by c.queue_id
    )`,
  ],
  join: (value) => `
      cross join lateral (
        select now, cutoff, first_id, boundary as boundary_at, whole as whole_at, jobferry_first_id(whole) as whole_id
          from moment offset 0) m
      left join completed on completed.queue_id = own.id
      cross join lateral (
        select count(*) filter (where j.scheduled_for <= m.now) as due,
               count(*) filter (where j.scheduled_for > m.now) as later,
               min(j.scheduled_for) filter (where j.scheduled_for <= m.now) as oldest,
               min(j.scheduled_for) filter (where j.scheduled_for > m.now) as next
          from job j where j.queue_id = own.id and j.status = 'pending') pending
      cross join lateral (
        select count(*) filter (where j.wait_reason = 'backoff') as retrying,
               count(*) filter (where j.wait_reason = 'hold') as held
          from job j where j.queue_id = own.id and j.status = 'pending' and j.wait_reason is not null
                       and j.scheduled_for > m.now) waiting
      cross join lateral (
        select count(*) filter (where j.status = 'processing') as processing,
               count(*) filter (where j.status = 'awaiting_ack') as awaiting_ack,
               min(j.deadline) filter (where j.status = 'awaiting_ack') as first_deadline
          from job j where j.queue_id = own.id and j.status in ('processing', 'awaiting_ack')) in_flight
      cross join lateral (
        select (select count(*) from job j where j.queue_id = own.id and j.status = 'dead' and j.id >= m.first_id)
               + (select count(*) from job j
                   where j.queue_id = own.id and j.status = 'dead' and j.id < m.first_id
                     and j.dead_at >= greatest(j.created_at + ${retention(value)},
                                               m.now - ${value('lifetimeMs')} * interval '1 ms')) as dead) dead
      cross join lateral (
        select count(*) as jobs, count(*) filter (where b.status = 'completed') as completed
          from (select j.status from job j
                 where (j.queue_id, j.id) >= (own.id, m.first_id) and (j.queue_id, j.id) < (own.id, m.whole_id)
                 order by j.queue_id, j.id limit ${BOUNDARY + 1}) b) boundary`,
  columns: `
           pending.due, pending.later - waiting.retrying - waiting.held as scheduled, waiting.retrying,
           waiting.held, in_flight.processing, in_flight.awaiting_ack,
           coalesce(completed.whole, 0)
             + case when boundary.jobs <= ${BOUNDARY} then boundary.completed
                    else round(coalesce(completed.boundary, 0) * extract(epoch from least(m.now, m.whole_at) - m.cutoff)
                               / extract(epoch from least(m.now, m.whole_at) - m.boundary_at))::bigint end as completed,
           dead.dead, pending.oldest, pending.next, in_flight.first_deadline`,
};
