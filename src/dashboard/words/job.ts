import type { AttemptStatus, JobState, JobStatus, WaitReason } from './words.ts';

/** The fields that sentences about a job need. The results of the operations have these fields, and more. */

/** A job in a list. */
export interface JobNow {
  id: string;
  status: JobStatus;
  state: JobState;
  attemptsMade: number;
  maxAttempts: number;
  deferCount: number;
  createdAt: string;
  scheduledFor: string;
  startedAt: string | null;
  /** The end is null unless the job is completed or dead. */
  endedAt: string | null;
  ackDeadline: string | null;
  lastError: string | null;
  deadReason: string | null;
  /** The person or key that cancelled the job; null if it was not cancelled, or they are not known. */
  cancelledBy: string | null;
  waiting: { reason: WaitReason; earliestAt: string | null } | null;
}

/** A job on its own page. */
export interface JobWhole extends JobNow {
  deliverBy: string;
  backoffType: 'FIXED' | 'EXPONENTIAL';
  backoffDelay: number;
  /** The text is null for people who may not see payloads. */
  progress: { text: string | null; at: string } | null;
  /** The answer that confirmed the receipt of a job in ack mode, while its report is awaited. */
  receipt: { webhookStatusCode: number; durationMs: number | null; responseBody: string | null } | null;
  /** Jobs of the queue that are due before this one; null if they are more than 1000. */
  waiting: { reason: WaitReason; earliestAt: string | null; ahead?: number | null } | null;
  /** Oldest first. */
  attempts: readonly AttemptNow[];
  queue: QueueOfJob;
}

export interface AttemptNow {
  attempt: number;
  status: AttemptStatus;
  at: string;
  durationMs: number | null;
  waitMs: number | null;
  webhookStatusCode: number | null;
  error: string | null;
  /** The start is null if it was not recorded. */
  startedAt: string | null;
  /** When the retry was to be, as decided when the attempt ended; null if none followed. */
  retryAt: string | null;
  /** End of the hold that the attempt caused, if any. */
  heldUntil: string | null;
}

export interface QueueOfJob {
  mode: 'STANDARD' | 'ACK';
  concurrency: number;
  depth?: { awaitingAck: number } | null;
  inFlight: number | null;
  rateLimitMax: number | null;
  rateLimitWindow: number;
  maxDefers: number;
  ackTimeout: number;
  /** Left out where it is not asked for. */
  ackTimeoutAction?: 'RETRY' | 'DEAD';
  pause: { since: string; by: string } | null;
  hold: { until: string; reason: string | null; askedBy: { id: string } | null; probe: { id: string } | null } | null;
  rateWindow: { used: number; max: number; resetsAt: string } | null;
}

/**
 * Whether attempts are missing: the live stream brings the counts of a job before its page has read the attempts. Holds and
 * attempts that count are counted apart.
 */
export function isBehind({ status, attemptsMade, deferCount, attempts }: JobWhole): boolean {
  const held = attempts.filter((attempt) => attempt.status === 'DEFERRED').length;
  const ended = attemptsMade - (status === 'PROCESSING' || status === 'AWAITING_ACK' ? 1 : 0);
  return attempts.length - held < ended || held < deferCount;
}

/** Back-off without jitter before the retry after `failures` failures, in milliseconds; at most an hour. */
export function backoffMs(type: JobWhole['backoffType'], delaySeconds: number, failures: number): number {
  const seconds = type === 'FIXED' ? delaySeconds : Math.min(3600, delaySeconds * 2 ** (failures - 1));
  return seconds * 1000;
}
