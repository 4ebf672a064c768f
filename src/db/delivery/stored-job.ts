import type { JobStatus } from '../../domain/job.ts';
import type { Periods } from '../../domain/periods.ts';
import type { AckTimeoutAction, BackoffType, QueueMode } from '../../domain/queue-settings.ts';
import { traceOfJob } from '../../domain/trace.ts';
import type { DeliveryRules, JobState } from '../../domain/transition.ts';
import { isTimeTrusted } from '../connection/clock-watch.ts';
import type { Database, Statement } from '../connection/database.ts';
import { isKeptJob } from '../retention/kept.ts';
import { BOOKMARK_OF_Q } from './bookmark.ts';

/** The part of a job that a transition needs, with the token that fences its result. */
export interface StoredJob {
  id: string;
  accountId: string;
  queueId: string;
  token: string;
  /** Trace context of the publish; null without one. */
  trace: string | null;
  state: JobState;
  rules: DeliveryRules;
  /** Database time of the read, in milliseconds. */
  now: number;
}

export interface StoredJobRow {
  id: string;
  account_id: string;
  queue_id: string;
  claim_token: number;
  status: JobStatus;
  attempts: number;
  max_attempts: number;
  defer_count: number;
  short_holds: number;
  interruptions: number;
  backoff_type: BackoffType;
  backoff_delay: number;
  deliver_by: Date;
  last_error: string | null;
  answer_status_code: number | null;
  mode: QueueMode;
  max_defers: number;
  ack_timeout: number;
  ack_timeout_action: AckTimeoutAction;
  is_probe: boolean;
  trace_context: string | null;
  now: Date;
}

// A job that was never claimed has no snapshot of the rules yet (D5). A pause of its queue does not count towards its
// lifetime (docs/decisions/0005).
const COLUMNS = `
  select j.id, j.account_id, j.queue_id, j.claim_token, j.status, j.attempts, j.max_attempts, j.defer_count, j.short_holds,
         j.interruptions,
         j.backoff_type, j.backoff_delay, j.last_error, j.answer_status_code,
         greatest(j.deliver_by, q.lifetime_floor) + coalesce(jobferry_now() - q.paused_at, interval '0') as deliver_by,
         coalesce(j.mode, q.mode) as mode, coalesce(j.max_defers, q.max_defers) as max_defers, q.ack_timeout,
         coalesce(j.ack_timeout_action, q.ack_timeout_action) as ack_timeout_action,
         q.probe_job_id is not distinct from j.id as is_probe, j.trace_context, jobferry_now() as now`;
const SELECT = `${COLUMNS} from job j join queue q on q.id = j.queue_id`;

const KEPT: Statement = {
  name: 'stored-jobs-kept',
  text: `${SELECT} where j.id = any ($1) and ${isKeptJob({
    now: '(select jobferry_now())',
    retention: `$2 * interval '1 ms'`,
    lifetime: `$3 * interval '1 ms'`,
  })}`,
};
const OVERDUE: Statement = {
  name: 'stored-jobs-overdue',
  text: `
    ${COLUMNS}
      from (select id from jobferry_flying($1) flying where flying.deadline <= (select jobferry_now())
             order by flying.deadline limit $2) overdue
      cross join lateral (select * from job where job.id = overdue.id and job.status in ('processing', 'awaiting_ack') offset 0) j
      join queue q on q.id = j.queue_id order by j.deadline`,
};
const OF_WORKERS: Statement = {
  name: 'stored-jobs-of-workers',
  text: `${SELECT} where j.status = 'processing' and j.worker_id = any ($1) order by j.id limit $2`,
};
// Claims whose message or answer is on its way are younger.
const STRAY: Statement = {
  name: 'stray-jobs',
  text: `
    ${SELECT} where j.status = 'processing' and j.worker_id = $1 and j.claimed_at < jobferry_now() - interval '1 s'
     order by j.id limit $2`,
};
// A paused queue may have millions of jobs past their lifetime, which do not die and must not be read. So the queues
// are selected first, and each reads the head of its own part of an index.
const pastLifetime = (columns: string, limit: string) => `
    from queue q cross join (select jobferry_now() as now offset 0) clock ${BOOKMARK_OF_Q} cross join lateral (
      select ${columns} from job
       where job.queue_id || '' = q.id and job.deliver_by >= coalesce(b.ends, '-infinity') and job.deliver_by <= clock.now
         and job.status = 'pending'
       order by job.queue_id || '', job.deliver_by limit ${limit}) j
   where q.id = any ($1::text[]) and q.deleted_at is null and q.paused_at is null
     and (q.lifetime_floor is null or q.lifetime_floor <= clock.now)`;
const QUEUES_PAST_LIFETIME: Statement = {
  name: 'queues-past-lifetime',
  text: `select q.id ${pastLifetime('1', '1')}`,
};
const PAST_LIFETIME: Statement = {
  name: 'stored-jobs-past-lifetime',
  text: `${COLUMNS} ${pastLifetime('job.*', '$2')}`,
};
const PENDING: Statement = {
  name: 'stored-jobs-pending',
  text: `${SELECT} where j.queue_id = $1 and j.status = 'pending' order by j.scheduled_for limit $2`,
};
// One by one: otherwise PostgreSQL 15 scans a small table instead of looking up some hundreds of ids.
const BY_IDS: Statement = {
  name: 'stored-jobs-by-ids',
  text: `
    ${COLUMNS}
      from unnest($1::text[]) as asked(id) cross join lateral (select * from job where job.id = asked.id offset 0) j
      join queue q on q.id = j.queue_id order by j.id`,
};

/** @returns the jobs that are still kept, by id; of all accounts */
export async function findJobs(db: Database, ids: readonly string[], periods: Periods): Promise<StoredJobs> {
  const rows = await db.query<StoredJobRow>(KEPT, [ids, periods.retentionMs, periods.lifetimeMs]);
  return new Map(rows.map((row) => [row.id, toStoredJob(db, row)]));
}

type StoredJobs = ReadonlyMap<string, StoredJob>;

/** @returns null when the account does not have the job, or not any more */
export async function findJob(
  db: Database,
  jobId: string,
  accountId: string,
  periods: Periods,
): Promise<StoredJob | null> {
  const job = (await findJobs(db, [jobId], periods)).get(jobId);
  return job?.accountId === accountId ? job : null;
}

/** @returns in-flight jobs of a queue whose lease or ack deadline has passed, oldest deadline first */
export async function overdueJobs(db: Database, queueId: string, limit: number): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(OVERDUE, [queueId, limit])).map((row) => toStoredJob(db, row));
}

export async function jobsOfWorkers(db: Database, workerIds: number[], limit: number): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(OF_WORKERS, [workerIds, limit])).map((row) => toStoredJob(db, row));
}

/** @returns claims of a worker that are older than a second */
export async function strayJobs(db: Database, workerId: number, limit: number): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(STRAY, [workerId, limit])).map((row) => toStoredJob(db, row));
}

/** @returns those of the queues that have a pending job whose delivery lifetime is over (D8) */
export async function queuesPastLifetime(db: Database, queueIds: readonly string[]): Promise<string[]> {
  return (await db.query<{ id: string }>(QUEUES_PAST_LIFETIME, [queueIds])).map(({ id }) => id);
}

/**
 * Returns pending jobs of the queues whose delivery lifetime is over (D8).
 * @param limit of each queue, so the statement reads up to as many times the number of queues
 */
export async function jobsPastLifetime(db: Database, queueIds: readonly string[], limit: number): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(PAST_LIFETIME, [queueIds, limit])).map((row) => toStoredJob(db, row));
}

export async function pendingJobs(db: Database, queueId: string, limit: number): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(PENDING, [queueId, limit])).map((row) => toStoredJob(db, row));
}

/** @returns the jobs that still exist */
export async function jobsByIds(db: Database, ids: readonly string[]): Promise<StoredJob[]> {
  return (await db.query<StoredJobRow>(BY_IDS, [ids])).map((row) => toStoredJob(db, row));
}

function toStoredJob(db: Database, row: StoredJobRow): StoredJob {
  const state = toJobState(row);
  // No job may die because of a wrong clock.
  if (!isTimeTrusted(db, row.now.getTime())) state.deliverBy = Number.POSITIVE_INFINITY;
  return {
    id: row.id,
    accountId: row.account_id,
    queueId: row.queue_id,
    token: String(row.claim_token),
    trace: traceOfJob(row.trace_context, row.id),
    now: row.now.getTime(),
    state,
    rules: toRules(row),
  };
}

/** Also used for claims, which return the same columns. */
export function toJobState(
  row: Omit<StoredJobRow, 'account_id' | 'queue_id' | 'claim_token' | 'is_probe' | 'trace_context' | 'now' | 'mode'>,
): JobState {
  return {
    status: row.status,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    deferCount: row.defer_count,
    shortHolds: row.short_holds,
    interruptions: row.interruptions,
    backoffType: row.backoff_type,
    backoffDelay: row.backoff_delay,
    deliverBy: row.deliver_by.getTime(),
    lastError: row.last_error,
    webhookStatusCode: row.answer_status_code,
  };
}

/** Shared with claim, like `toJobState`. */
export function toRules(
  row: Pick<StoredJobRow, 'mode' | 'max_defers' | 'ack_timeout' | 'ack_timeout_action' | 'is_probe'>,
): DeliveryRules {
  return {
    mode: row.mode,
    maxDefers: row.max_defers,
    ackTimeout: row.ack_timeout,
    ackTimeoutAction: row.ack_timeout_action,
    isProbe: row.is_probe,
  };
}
