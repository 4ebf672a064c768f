import type { WaitingJob, WaitingQueue } from '../../domain/waiting.ts';
import type { Database, Statement } from '../connection/database.ts';
import { IN_FLIGHT_OF_Q, toUse, USE_OF_Q, type UseColumns } from './use.ts';

/**
 * SQL: the columns of the queue `q` that decide why its jobs wait, with `IN_FLIGHT_OF_Q`. A probe that is no longer in
 * flight does not count.
 */
export const QUEUE_STATE = `
  q.id as queue_id, q.deleted_at is not null as deleted, q.paused_at, q.paused_by, q.hold_until, q.hold_job_id,
  q.hold_reason, q.breaker_opened_at is not null as is_broken,
  (q.breaker_failures is not null or q.breaker_seconds is not null) as has_breaker, q.concurrency,
  (select p.id from job p where p.id = q.probe_job_id and p.status in ('processing', 'awaiting_ack')) as probe_job_id,
  ${USE_OF_Q}`;

/**
 * @param jobs condition on the job `j`
 * @returns SQL: the facts that decide why those of the jobs that are pending wait
 */
export function whyJobsWait(jobs: string): string {
  return `
    with clock as materialized (select jobferry_now() as now), waiting as materialized (
      select j.id, j.queue_id, j.scheduled_for, j.wait_reason, j.last_error, j.attempts, j.max_attempts
        from job j
       where ${jobs} and j.status = 'pending'
    ), state as materialized (
      select ${QUEUE_STATE}
        from clock cross join queue q ${IN_FLIGHT_OF_Q} where q.id = any (array(select queue_id from waiting))
    )
    select * from clock, waiting join state using (queue_id)`;
}

const WAITINGS: Statement = {
  name: 'waiting-jobs',
  text: whyJobsWait('j.id = any ($1::text[]) and j.account_id = $2'),
};

export interface QueueStateRow extends UseColumns {
  queue_id: string;
  deleted: boolean;
  paused_at: Date | null;
  paused_by: string | null;
  hold_until: Date | null;
  hold_job_id: string | null;
  hold_reason: string | null;
  is_broken: boolean;
  has_breaker: boolean;
  concurrency: number;
  probe_job_id: string | null;
}

export function toWaitingQueue(row: QueueStateRow): WaitingQueue {
  return {
    deleted: row.deleted,
    paused: row.paused_at === null || row.paused_by === null ? null : { since: row.paused_at, by: row.paused_by },
    hold:
      row.hold_until === null
        ? null
        : { until: row.hold_until, jobId: row.hold_job_id, reason: row.hold_reason, byBreaker: row.is_broken },
    hasBreaker: row.has_breaker,
    probeJobId: row.probe_job_id,
    concurrency: row.concurrency,
    ...toUse(row),
  };
}

export interface WaitingRow extends QueueStateRow {
  now: Date;
  id: string;
  scheduled_for: Date;
  wait_reason: WaitingJob['waitReason'];
  last_error: string | null;
  attempts: number;
  max_attempts: number;
}

/** Columns of a `WaitingRow` that are times. */
export const WAITING_TIMES = ['now', 'scheduled_for', 'paused_at', 'hold_until', 'rate_resets_at'] as const;

/** The facts that decide why a job waits, at `now`. */
export interface WaitingFacts {
  id: string;
  job: WaitingJob;
  queue: WaitingQueue;
  now: Date;
}

/** @returns the facts of those of the jobs that are pending and belong to the account */
export async function waitingJobs(db: Database, accountId: string, jobIds: readonly string[]): Promise<WaitingFacts[]> {
  return (await db.query<WaitingRow>(WAITINGS, [jobIds, accountId])).map(toWaitingFacts);
}

export function toWaitingFacts(row: WaitingRow): WaitingFacts {
  return {
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
  };
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
