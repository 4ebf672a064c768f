import type { Database, Statement } from '../connection/database.ts';
import type { Attempt } from '../generated/client.ts';
import { type JobRows, jobRows } from '../jobs/rows.ts';
import { ATTEMPT_ROW, columnsOf } from '../rows.ts';

const ACCOUNT: Statement = { name: 'operator-account-of-job', text: 'select account_id as id from job where id = $1' };

/** The answers of webhooks can be large, and may be encrypted. */
const ATTEMPTS: Statement = {
  name: 'operator-attempts',
  text: `select ${columnsOf({ ...ATTEMPT_ROW, fields: ATTEMPT_ROW.fields.filter((name) => name !== 'responseBody') }, 'a')}
           from attempt a where a.job_id = $1 order by a.ordinal`,
};

export type ShownAttempt = Omit<Attempt, 'responseBody'>;

export interface ShownJob {
  job: JobRows['jobs'][number];
  queue: JobRows['queues'][number] | null;
  deadLetter: JobRows['deadLetters'][number] | null;
  waiting: JobRows['waiting'][number] | null;
  cancelledBy: string | null;
  attempts: ShownAttempt[];
}

/** @returns a job of any account with its history, without its payload; null if there is none */
export async function findJob(db: Database, id: string): Promise<ShownJob | null> {
  const account = await db.one<{ id: string }>(ACCOUNT, [id]);
  if (account === null) return null;
  const parts = { queue: true, deadLetter: true, waiting: true, cancelledBy: true };
  const { jobs, queues, deadLetters, waiting, cancellations } = await jobRows(db, account.id, [id], parts);
  const [job] = jobs;
  if (job === undefined) return null;
  const attempts = await db.query<ShownAttempt & Record<string, unknown>>(ATTEMPTS, [id]);
  return {
    job,
    queue: queues[0] ?? null,
    deadLetter: deadLetters[0] ?? null,
    waiting: waiting[0] ?? null,
    cancelledBy: cancellations[0]?.actor ?? null,
    attempts,
  };
}

export const LISTED_STATUSES = ['pending', 'processing', 'awaiting_ack', 'completed', 'dead'] as const;
export type ListedStatus = (typeof LISTED_STATUSES)[number];

export interface JobSummary {
  id: string;
  status: ListedStatus;
  createdAt: Date;
  /** When the job is due, or was. */
  scheduledFor: Date;
  attempts: number;
  maxAttempts: number;
  lastError: string | null;
}

const COLUMNS = `j.id, j.status, j.created_at as "createdAt", j.scheduled_for as "scheduledFor", j.attempts,
           j.max_attempts as "maxAttempts", j.last_error as "lastError"`;

/** Jobs among which those are found for which there is no index. */
export const MAX_EXAMINED = 100_000;

const newest = (name: string, condition: string): Statement => ({
  name,
  text: `select ${COLUMNS} from job j where j.queue_id = $1 ${condition} order by j.id desc limit $2`,
});

/** Each reads one index in order, so a list takes no longer in a queue with millions of jobs. */
const LISTS: Readonly<Record<ListedStatus | 'all', Statement>> = {
  all: newest('operator-jobs', ''),
  pending: {
    name: 'operator-jobs-pending',
    text: `select ${COLUMNS} from job j where j.queue_id = $1 and j.status = 'pending'
            order by j.scheduled_for, j.id limit $2`,
  },
  // In flight are as many as the queue has slots.
  processing: inFlight('processing'),
  awaiting_ack: inFlight('awaiting_ack'),
  completed: {
    name: 'operator-jobs-completed',
    text: `select ${COLUMNS} from (select * from job where queue_id = $1 order by id desc limit ${MAX_EXAMINED}) j
            where j.status = 'completed' order by j.id desc limit $2`,
  },
  dead: newest('operator-jobs-dead', `and j.status = 'dead'`),
};

function inFlight(status: 'processing' | 'awaiting_ack'): Statement {
  return {
    name: `operator-jobs-${status}`,
    text: `
      with taken as materialized (
        select * from job where queue_id = $1 and status in ('processing', 'awaiting_ack'))
      select ${COLUMNS} from taken j where j.status = '${status}' order by j.claimed_at, j.id limit $2`,
  };
}

/**
 * @param status null for all
 * @returns jobs of a queue without their payloads: pending ones in the order in which they are due, those in flight by
 * the start of their delivery, others newest first
 */
export function listJobs(
  db: Database,
  queueId: string,
  { status, limit }: { status: ListedStatus | null; limit: number },
): Promise<JobSummary[]> {
  return db.query<JobSummary & Record<string, unknown>>(LISTS[status ?? 'all'], [queueId, limit]);
}

const BY_KEY: Statement = {
  name: 'operator-job-by-key',
  text: 'select id from job where queue_id = $1 and idempotency_key = $2',
};

/** @returns the id of the job with an idempotency key; null if there is none */
export async function jobWithKey(db: Database, queueId: string, key: string): Promise<string | null> {
  return (await db.one<{ id: string }>(BY_KEY, [queueId, key]))?.id ?? null;
}
