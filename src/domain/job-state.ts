import type { AttemptStatus, DeadReason, JobStatus } from './job.ts';
import type { AttemptOutcome, OwnFailure } from './outcome.ts';
import type { AckTimeoutAction, BackoffType, QueueMode } from './queue-settings.ts';

/** The facts that decide what becomes of a job, and the decision; `transition` makes it. */

/** The facts about the job that a decision depends on. */
export interface JobState {
  status: JobStatus;
  /** Includes the attempt that is in flight (D2). */
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  /** Consecutive holds of less than a second so far. */
  shortHolds: number;
  /** Claims lost with their worker since the last attempt that counted. */
  interruptions: number;
  backoffType: BackoffType;
  /** Seconds. */
  backoffDelay: number;
  /** End of the delivery lifetime (D8), database time in milliseconds. */
  deliverBy: number;
  lastError: string | null;
  /** Status code of the 2xx that confirmed receipt; null unless the job is awaiting_ack. */
  webhookStatusCode: number | null;
}

/** The queue's rules as they were when this delivery was claimed (D5). */
export interface DeliveryRules {
  mode: QueueMode;
  maxDefers: number;
  /** Seconds. */
  ackTimeout: number;
  ackTimeoutAction: AckTimeoutAction;
  /** The claim released this job alone, to test whether the held queue may resume (D14). */
  isProbe: boolean;
  /** The queue has a breaker, which counts its answers; undefined if it has none. */
  hasBreaker?: boolean;
}

export type DeferScope = 'queue' | 'job';

export type JobEvent =
  | { type: 'answered'; outcome: AttemptOutcome }
  /** The delivery could not begin, and no receiver is to blame (D38). */
  | { type: 'unsent'; error: OwnFailure; waitMs: number }
  | { type: 'acked' }
  | { type: 'nacked'; retryable: boolean; reason: string | null }
  | { type: 'deferred'; retryAfterMs: number; scope: DeferScope; reason: string | null }
  | { type: 'ack_timed_out' }
  | { type: 'interrupted' }
  | { type: 'lifetime_ended' }
  | { type: 'queue_deleted' }
  | { type: 'cancelled' };

/** Time and randomness are arguments, so that tests need not sleep. */
export interface Moment {
  /** Database time in milliseconds. */
  now: number;
  /** Uniform in [0, 1). */
  random: number;
}

/** A change of the queue. The last three are for its breaker (docs/decisions/0053). */
export type QueueEffect =
  /** Deliveries of the whole queue stop, and the next one is a probe. The hold that ends later wins (D14). */
  | { kind: 'hold'; ms: number }
  /** The probe has ended: the queue returns to its concurrency, unless another hold was set meanwhile. */
  | { kind: 'resume' }
  /**
   * The receiver answered 2xx and the attempt is over: an open breaker closes, and failures are counted from 0 again.
   */
  | { kind: 'alive' }
  /** As `alive`, but the attempt goes on until its report, and so does an ordinary probe. */
  | { kind: 'accepted' }
  /** The answer failed. `ms`: a hold of the queue that the receiver of a probe asked for; null without one. */
  | { kind: 'failing'; ms: number | null };

export interface Transition {
  status: JobStatus;
  attempts: number;
  deferCount: number;
  shortHolds: number;
  interruptions: number;
  /** Milliseconds from now to the next delivery (pending) or to the ack deadline (awaiting_ack), else 0. */
  waitMs: number;
  lastError: string | null;
  entry: TransitionEntry | null;
  deadReason: DeadReason | null;
  queueEffect: QueueEffect | null;
  /** Whether the month's usage keeps the attempt that the claim has counted. */
  isBilled: boolean;
}

/** The history entry of an ended attempt (D12); settle adds the timestamp. */
export interface TransitionEntry {
  attempt: number;
  status: AttemptStatus;
  error: string | null;
  webhookStatusCode: number | null;
}
