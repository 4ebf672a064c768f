import type { JobStateName } from '../../domain/job-filter.ts';
import type { Periods } from '../../domain/periods.ts';
import type { WaitingJob, WaitingQueue } from '../../domain/waiting.ts';
import type { Database, Statement } from '../connection/database.ts';

/** Jobs of the oldest five minutes that are read one by one. */
const BOUNDARY = 2000;

// Jobs that are no longer kept are not counted, whether or not the sweep has removed them. Completed jobs are counted until
// their retention ends. The other states are counted by index-only scans of partial indexes. There can be a million
// completed jobs, so their counts come from the statistics, which have buckets of five minutes of creation time. In the
// bucket in which retention ends, jobs are read one by one. If there are too many, their number is estimated from the
// part of the five minutes that is left. Ages are compared with "is true", or together with the queue, so that no plan
// uses an index over all queues for them.
const DEPTHS: Statement = {
  name: 'queue-depths',
  text: `
    with own as materialized (
      select id from queue where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), moment as materialized (
      select now, now - $3 * interval '1 ms' as cutoff, jobferry_first_id(now - $3 * interval '1 ms') as first_id,
             jobferry_bucket(now - $3 * interval '1 ms') as boundary,
             jobferry_bucket(now - $3 * interval '1 ms') + interval '300 s' as whole,
             jobferry_stats_until($3 * interval '1 ms') as until
        from (select jobferry_now() as now) clock
    ), completed as materialized (
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
    )
    select own.id, pending.due, pending.later - waiting.retrying - waiting.held as scheduled, waiting.retrying,
           waiting.held, in_flight.processing, in_flight.awaiting_ack,
           coalesce(completed.whole, 0)
             + case when boundary.jobs <= ${BOUNDARY} then boundary.completed
                    else round(coalesce(completed.boundary, 0) * extract(epoch from least(now, whole_at) - cutoff)
                               / extract(epoch from least(now, whole_at) - boundary_at))::bigint end as completed,
           dead.dead, pending.oldest
      from own
      cross join lateral (
        select now, cutoff, first_id, boundary as boundary_at, whole as whole_at, jobferry_first_id(whole) as whole_id
          from moment offset 0) m
      left join completed on completed.queue_id = own.id
      cross join lateral (
        select count(*) filter (where j.scheduled_for <= m.now) as due,
               count(*) filter (where j.scheduled_for > m.now) as later,
               min(j.scheduled_for) filter (where j.scheduled_for <= m.now) as oldest
          from job j where j.queue_id = own.id and j.status = 'pending') pending
      cross join lateral (
        select count(*) filter (where j.wait_reason = 'backoff') as retrying,
               count(*) filter (where j.wait_reason = 'hold') as held
          from job j where j.queue_id = own.id and j.status = 'pending' and j.wait_reason is not null
                       and j.scheduled_for > m.now) waiting
      cross join lateral (
        select count(*) filter (where j.status = 'processing') as processing,
               count(*) filter (where j.status = 'awaiting_ack') as awaiting_ack
          from job j where j.queue_id = own.id and j.status in ('processing', 'awaiting_ack')) in_flight
      cross join lateral (
        select (select count(*) from job j where j.queue_id = own.id and j.status = 'dead' and j.id >= m.first_id)
               + (select count(*) from job j
                   where j.queue_id = own.id and j.status = 'dead' and j.id < m.first_id
                     and j.dead_at >= greatest(j.created_at + $3 * interval '1 ms', m.now - $4 * interval '1 ms')) as dead) dead
      cross join lateral (
        select count(*) as jobs, count(*) filter (where b.status = 'completed') as completed
          from (select j.status from job j
                 where (j.queue_id, j.id) >= (own.id, m.first_id) and (j.queue_id, j.id) < (own.id, m.whole_id)
                 order by j.queue_id, j.id limit ${BOUNDARY + 1}) b) boundary`,
};

type DepthRow = Record<JobStateName, number> & { id: string; oldest: Date | null };

/** @returns number of jobs by state, of those of the queues that are live and belong to the account */
export function queueDepths(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  { retentionMs, lifetimeMs }: Periods,
): Promise<DepthRow[]> {
  return db.query<DepthRow>(DEPTHS, [queueIds, accountId, retentionMs, lifetimeMs]);
}

/** SQL: the in-flight count and the present rate window of the queue `q` at `clock.now`. */
const USE_OF_Q = `
  (select count(*) from job f where f.queue_id = q.id and f.status in ('processing', 'awaiting_ack')) as in_flight,
  q.rate_limit_max,
  case when q.rate_window_start = (jobferry_rate_window(q.rate_limit_window, clock.now)).starts
       then q.rate_window_used else 0 end as rate_used,
  (jobferry_rate_window(q.rate_limit_window, clock.now)).ends as rate_resets_at`;

const USES: Statement = {
  name: 'queue-uses',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select q.id, ${USE_OF_Q}
      from clock, queue q where q.id = any ($1::text[]) and q.account_id = $2 and q.deleted_at is null`,
};

interface UseColumns {
  in_flight: number;
  rate_limit_max: number | null;
  rate_used: number;
  rate_resets_at: Date;
}

type Use = Pick<WaitingQueue, 'inFlight' | 'rate'>;

/** @returns how much of their limits the queues use, of those that are live and belong to the account */
export async function queueUses(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
): Promise<Map<string, Use>> {
  const rows = await db.query<UseColumns & { id: string }>(USES, [queueIds, accountId]);
  return new Map(rows.map((row) => [row.id, toUse(row)]));
}

function toUse(row: UseColumns): Use {
  const max = row.rate_limit_max;
  return {
    inFlight: row.in_flight,
    rate: max === null ? null : { used: row.rate_used, max, resetsAt: row.rate_resets_at },
  };
}

/** SQL: the columns of the queue `q` that decide why its jobs wait. A probe that is no longer in flight does not count. */
export const QUEUE_STATE = `
  q.id as queue_id, q.deleted_at is not null as deleted, q.paused_at, q.paused_by, q.hold_until, q.hold_job_id,
  q.hold_reason, q.concurrency,
  (select p.id from job p where p.id = q.probe_job_id and p.status in ('processing', 'awaiting_ack')) as probe_job_id,
  ${USE_OF_Q}`;

const WAITINGS: Statement = {
  name: 'waiting-jobs',
  text: `
    with clock as materialized (select jobferry_now() as now), waiting as materialized (
      select j.id, j.queue_id, j.scheduled_for, j.wait_reason, j.last_error, j.attempts, j.max_attempts
        from job j
       where j.id = any ($1::text[]) and j.account_id = $2 and j.status = 'pending'
    ), state as materialized (
      select ${QUEUE_STATE}
        from clock, queue q where q.id = any (array(select queue_id from waiting))
    )
    select * from clock, waiting join state using (queue_id)`,
};

export interface QueueStateRow extends UseColumns {
  queue_id: string;
  deleted: boolean;
  paused_at: Date | null;
  paused_by: string | null;
  hold_until: Date | null;
  hold_job_id: string | null;
  hold_reason: string | null;
  concurrency: number;
  probe_job_id: string | null;
}

export function toWaitingQueue(row: QueueStateRow): WaitingQueue {
  return {
    deleted: row.deleted,
    paused: row.paused_at === null || row.paused_by === null ? null : { since: row.paused_at, by: row.paused_by },
    hold: row.hold_until === null ? null : { until: row.hold_until, jobId: row.hold_job_id, reason: row.hold_reason },
    probeJobId: row.probe_job_id,
    concurrency: row.concurrency,
    ...toUse(row),
  };
}

interface WaitingRow extends QueueStateRow {
  now: Date;
  id: string;
  scheduled_for: Date;
  wait_reason: WaitingJob['waitReason'];
  last_error: string | null;
  attempts: number;
  max_attempts: number;
}

/** @returns the facts that decide why a job waits, for those of the jobs that are pending and belong to the account */
export async function waitingJobs(
  db: Database,
  accountId: string,
  jobIds: readonly string[],
): Promise<{ id: string; job: WaitingJob; queue: WaitingQueue; now: Date }[]> {
  const rows = await db.query<WaitingRow>(WAITINGS, [jobIds, accountId]);
  return rows.map((row) => ({
    id: row.id,
    now: row.now,
    job: {
      scheduledFor: row.scheduled_for,
      waitReason: row.wait_reason,
      lastError: row.last_error,
      attempts: row.attempts,
      maxAttempts: row.max_attempts,
    },
    queue: toWaitingQueue(row),
  }));
}

/** Jobs before another one that are counted. */
export const MAX_AHEAD = 1000;

// In the order of a claim, by index alone.
const AHEAD: Statement = {
  name: 'jobs-ahead',
  text: `
    select j.id, (select count(*) from (
             select from job d
              where d.queue_id = j.queue_id and d.status = 'pending' and (d.scheduled_for, d.id) < (j.scheduled_for, j.id)
              limit ${MAX_AHEAD + 1}) due) as ahead
      from job j where j.id = any ($1::text[]) and j.account_id = $2 and j.status = 'pending'`,
};

/** @returns how many jobs of its queue are delivered before each pending job, up to MAX_AHEAD + 1 */
export async function jobsAhead(
  db: Database,
  accountId: string,
  jobIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; ahead: number }>(AHEAD, [jobIds, accountId]);
  return new Map(rows.map(({ id, ahead }) => [id, ahead]));
}

/** Queues whose statistics are added up; an account with more sees those of the oldest. */
const MAX_QUEUES = 1000;

const LIVE: Statement = {
  name: 'live-queue-ids',
  text: `select id from queue where account_id = $1 and deleted_at is null order by id limit ${MAX_QUEUES}`,
};

export async function liveQueueIds(db: Database, accountId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(LIVE, [accountId])).map(({ id }) => id);
}
