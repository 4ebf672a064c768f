/** The job and its history, in the words of the spec ("Resources and their fields"). */

export const JOB_STATUSES = ['pending', 'processing', 'awaiting_ack', 'completed', 'dead'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** Names of the statuses elsewhere. */
const OTHER_STATUSES: readonly [RegExp, JobStatus][] = [
  [/^(?:fail|error|dlq|cancel|dead)/i, 'dead'],
  [/^(?:success|succe|complete|done|delivered)/i, 'completed'],
  [/^(?:queued|waiting|scheduled|delayed|retrying|held|pending)/i, 'pending'],
  [/^(?:running|active|in.?flight|processing)/i, 'processing'],
  [/^(?:awaiting|acked$)/i, 'awaiting_ack'],
];

/** Returns the status that is probably meant by a text that is no status; undefined if none is. */
export function statusMeantBy(text: string): JobStatus | undefined {
  return OTHER_STATUSES.find(([pattern]) => pattern.test(text))?.[1];
}

export const ATTEMPT_STATUSES = ['success', 'failed', 'nacked', 'deferred'] as const;
export type AttemptStatus = (typeof ATTEMPT_STATUSES)[number];

/**
 * Why a job died. The spec names the first two; D8, D9, D10 and D17 name the others. A client requests
 * `cancelled`, which leaves no dead letter (docs/decisions/0005). `nacked` is a nack with `retryable: false`, or an
 * answer that says the same (D39).
 * Operators group jobs by the reason, and read `lastError`.
 */
export const DEAD_REASONS = [
  'defer_cap_exhausted',
  'retry_after_exceeds_lifetime',
  'delivery_lifetime_exceeded',
  'attempts_exhausted',
  'nacked',
  'ack_timeout',
  'queue_deleted',
  'cancelled',
] as const;
export type DeadReason = (typeof DEAD_REASONS)[number];

/** One ended attempt (D12). */
export interface HistoryEntry {
  /** Number of the delivery, from 1. A redelivery after a hold repeats it (D3). */
  attempt: number;
  status: AttemptStatus;
  error: string | null;
  /** The webhook's answer; null when there was none. */
  webhookStatusCode: number | null;
  timestamp: Date;
}

/** A job as the API returns it (spec "Job", D21). */
export interface JobDocument {
  id: string;
  queue: string;
  status: JobStatus;
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  idempotencyKey: string | null;
  /** JSON source text exactly as published (D26). */
  payload: string;
  scheduledFor: Date;
  lastError: string | null;
  history: HistoryEntry[];
  createdAt: Date;
  completedAt: Date | null;
}

/** The result of a publish, and of a replay (D19). */
export interface PublishedJob {
  id: string;
  status: JobStatus;
  createdAt: Date;
}

/** A job that died on a queue with `dlqEnabled` (spec "DLQ entry"). */
export interface DeadLetterDocument {
  id: string;
  originalJobId: string;
  queue: string;
  /** JSON source text exactly as published (D26). */
  payload: string;
  history: HistoryEntry[];
  deadAt: Date;
  replayedAt: Date | null;
  replayedJobId: string | null;
}

/** Result of a bulk replay (D19). */
export interface BulkReplayResult {
  replayed: number;
  skipped: number;
  jobs: { id: string; replayedJobId: string }[];
  errors: { id: string; error: string }[];
  /** Dead letters of the queue that are not replayed yet. */
  remaining: number;
}
