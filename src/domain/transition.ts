import { backoffMs } from './backoff.ts';
import type { AttemptStatus, DeadReason, JobStatus } from './job.ts';
import { DEFAULT_HOLD_MS, type Outcome } from './outcome.ts';
import type { AckTimeoutAction, BackoffType, QueueMode } from './queue.ts';
import { countShortHolds, stretchedHoldMs } from './short-holds.ts';

/**
 * The state machine of a job: what an event makes of it. Pure, so that every rule of the spec's
 * "States and transitions" is a table row in a test. `db/delivery/settle` writes the result, and only
 * where status and claim token are still what the decision was based on.
 *
 * The one move that is not here is pending -> processing: claiming is a decision over a whole
 * queue (cap, window, hold, probe), made in SQL under the queue's lock (`db/delivery/claim`).
 */

/** What a decision needs to know of the job. */
export interface JobState {
  status: JobStatus;
  /** Includes the attempt that is under way (D2). */
  attempts: number;
  maxAttempts: number;
  deferCount: number;
  /** Holds of less than a second that it got in a row, up to now. */
  shortHolds: number;
  /** Claims lost by our own fault since the last attempt that counted. */
  interruptions: number;
  backoffType: BackoffType;
  /** Seconds. */
  backoffDelay: number;
  /** End of the delivery lifetime (D8), database time in milliseconds. */
  deliverBy: number;
  lastError: string | null;
  /** The 2xx that confirmed receipt, while the job is awaiting_ack. */
  webhookStatusCode: number | null;
}

/** The queue's rules as they were when this delivery was claimed (D5). */
export interface DeliveryRules {
  mode: QueueMode;
  maxDefers: number;
  /** Seconds. */
  ackTimeout: number;
  ackTimeoutAction: AckTimeoutAction;
  /** This job was released to find out whether the held queue may resume (D14). */
  isProbe: boolean;
}

export type DeferScope = 'queue' | 'job';

export type JobEvent =
  | { type: 'answered'; outcome: Outcome }
  | { type: 'acked' }
  | { type: 'nacked'; retryable: boolean; reason: string | null }
  | { type: 'deferred'; retryAfterMs: number; scope: DeferScope; reason: string | null }
  | { type: 'ack_timed_out' }
  | { type: 'interrupted' }
  | { type: 'lifetime_ended' }
  | { type: 'queue_deleted' }
  | { type: 'cancelled' };

/** Time and chance are arguments: tests move time, they do not sleep. */
export interface Moment {
  /** Database time in milliseconds. */
  now: number;
  /** Uniform in [0, 1). */
  random: number;
}

type QueueEffect =
  /** Deliveries of the whole queue stop, and the next one is a probe. A later hold wins (D14). */
  | { kind: 'hold'; ms: number }
  /** The probe did its work: normal concurrency, unless a later hold was asked for meanwhile. */
  | { kind: 'resume' };

export interface Transition {
  status: JobStatus;
  attempts: number;
  deferCount: number;
  shortHolds: number;
  interruptions: number;
  /** From now: until the next delivery (pending), until the ack deadline (awaiting_ack), else 0. */
  waitMs: number;
  lastError: string | null;
  entry: TransitionEntry | null;
  deadReason: DeadReason | null;
  queueEffect: QueueEffect | null;
}

/** The history entry that an ended attempt leaves (D12); settling adds the timestamp. */
export interface TransitionEntry {
  attempt: number;
  status: AttemptStatus;
  error: string | null;
  webhookStatusCode: number | null;
}

/** So many lost claims in a row count as one failed attempt: a job that kills workers must end. */
export const MAX_INTERRUPTIONS = 10;

/** What an event is allowed to happen to; anything else is refused with `null`. */
const EXPECTED_STATUS: Record<JobEvent['type'], readonly JobStatus[]> = {
  answered: ['processing'],
  interrupted: ['processing'],
  acked: ['awaiting_ack'],
  nacked: ['awaiting_ack'],
  deferred: ['awaiting_ack'],
  ack_timed_out: ['awaiting_ack'],
  lifetime_ended: ['pending'],
  queue_deleted: ['pending'],
  // Not while the request is on the wire: it cannot be called back.
  cancelled: ['pending', 'awaiting_ack'],
};

/** Decides what an event makes of a job, or `null` when the job is not in a state to take it. */
export function transition(job: JobState, rules: DeliveryRules, event: JobEvent, moment: Moment): Transition | null {
  if (!EXPECTED_STATUS[event.type].includes(job.status)) return null;
  switch (event.type) {
    case 'answered':
      return answered(job, rules, event.outcome, moment);
    case 'acked':
      return succeed(job, rules, job.webhookStatusCode);
    case 'nacked':
      return nacked(job, rules, event, moment);
    case 'deferred':
      return defer(job, rules, { ...event, error: event.reason, statusCode: job.webhookStatusCode }, moment);
    case 'ack_timed_out':
      return ackTimedOut(job, rules, moment);
    case 'interrupted':
      return interrupted(job, rules, moment);
    case 'lifetime_ended':
      return moment.now < job.deliverBy ? null : buried(job, 'delivery_lifetime_exceeded');
    case 'queue_deleted':
      return buried(job, 'queue_deleted');
    case 'cancelled':
      return cancelled(job, rules);
  }
}

function answered(job: JobState, rules: DeliveryRules, outcome: Outcome, moment: Moment): Transition {
  const { statusCode } = outcome;
  switch (outcome.kind) {
    case 'accepted':
      if (rules.mode === 'standard') return succeed(job, rules, statusCode);
      return { ...unchanged(job), status: 'awaiting_ack', waitMs: toMs(rules.ackTimeout) };
    case 'backpressure': {
      const { retryAfterMs } = outcome;
      return defer(job, rules, { retryAfterMs, scope: 'job', error: `HTTP ${statusCode}`, statusCode }, moment);
    }
    case 'failed':
      return fail(job, rules, { status: 'failed', error: outcome.error, statusCode }, moment);
  }
}

function succeed(job: JobState, rules: DeliveryRules, statusCode: number | null): Transition {
  return {
    ...unchanged(job),
    status: 'completed',
    interruptions: 0,
    entry: entryOf(job, 'success', null, statusCode),
    queueEffect: resumeIfProbe(rules),
  };
}

function nacked(
  job: JobState,
  rules: DeliveryRules,
  event: { retryable: boolean; reason: string | null },
  moment: Moment,
): Transition {
  const failure: Failure = { status: 'nacked', error: event.reason, statusCode: job.webhookStatusCode };
  if (event.retryable) return fail(job, rules, failure, moment);
  return die(job, rules, failure, 'nacked');
}

function ackTimedOut(job: JobState, rules: DeliveryRules, moment: Moment): Transition {
  const failure: Failure = { status: 'failed', error: 'ack_timeout', statusCode: job.webhookStatusCode };
  if (rules.ackTimeoutAction === 'retry') return fail(job, rules, failure, moment);
  return die(job, rules, failure, 'ack_timeout');
}

/** The worker is gone: our fault, so the attempt is given back, up to a bound (D2). */
function interrupted(job: JobState, rules: DeliveryRules, moment: Moment): Transition {
  const interruptions = job.interruptions + 1;
  if (interruptions >= MAX_INTERRUPTIONS) {
    return fail(job, rules, { status: 'failed', error: 'worker_lost', statusCode: null }, moment);
  }
  return {
    ...unchanged(job),
    status: 'pending',
    attempts: job.attempts - 1,
    interruptions,
    queueEffect: resumeIfProbe(rules),
  };
}

interface Failure {
  status: 'failed' | 'nacked';
  error: string | null;
  statusCode: number | null;
}

/** An attempt that counts: retried with backoff while attempts and lifetime remain (D4, D8, D9, D10). */
function fail(job: JobState, rules: DeliveryRules, failure: Failure, moment: Moment): Transition {
  if (job.attempts >= job.maxAttempts) return die(job, rules, failure, 'attempts_exhausted');
  const waitMs = backoffMs(job.backoffType, job.backoffDelay, job.attempts, moment.random);
  if (moment.now + waitMs >= job.deliverBy) {
    const reason = 'delivery_lifetime_exceeded';
    return die(job, rules, { ...failure, error: reason }, reason);
  }
  return {
    ...unchanged(job),
    status: 'pending',
    shortHolds: 0,
    interruptions: 0,
    waitMs,
    lastError: failure.error ?? failure.status,
    entry: entryOf(job, failure.status, failure.error, failure.statusCode),
    queueEffect: resumeIfProbe(rules),
  };
}

function die(job: JobState, rules: DeliveryRules, failure: Failure, deadReason: DeadReason): Transition {
  return {
    ...unchanged(job),
    status: 'dead',
    interruptions: 0,
    lastError: failure.error ?? failure.status,
    entry: entryOf(job, failure.status, failure.error, failure.statusCode),
    deadReason,
    queueEffect: resumeIfProbe(rules),
  };
}

interface Defer {
  retryAfterMs: number;
  scope: DeferScope;
  error: string | null;
  statusCode: number | null;
}

/**
 * Backpressure, told by an answer or by a call: the job is held and the attempt given back, until
 * the budget of holds is spent (D7) or the hold would outlast the delivery lifetime (D8).
 */
function defer(job: JobState, rules: DeliveryRules, asked: Defer, moment: Moment): Transition {
  const shortHolds = countShortHolds(job.shortHolds, asked.retryAfterMs);
  const ask = { ...asked, retryAfterMs: stretchedHoldMs(asked.retryAfterMs, shortHolds) };
  // At the very end of its lifetime a job can no longer be claimed either.
  const outlivesJob = moment.now + ask.retryAfterMs >= job.deliverBy;
  const refunded: Transition = {
    ...unchanged(job),
    attempts: job.attempts - 1,
    shortHolds,
    interruptions: 0,
    queueEffect: holdOf(rules, ask, outlivesJob),
  };
  const deadReason = deferKills(job, rules, outlivesJob);
  if (deadReason !== null) {
    return {
      ...refunded,
      status: 'dead',
      lastError: deadReason,
      entry: entryOf(job, 'deferred', deadReason, ask.statusCode),
      deadReason,
    };
  }
  return {
    ...refunded,
    status: 'pending',
    deferCount: job.deferCount + 1,
    waitMs: ask.retryAfterMs,
    lastError: ask.error ?? job.lastError,
    entry: entryOf(job, 'deferred', ask.error, ask.statusCode),
  };
}

function deferKills(job: JobState, rules: DeliveryRules, outlivesJob: boolean): DeadReason | null {
  if (job.deferCount >= rules.maxDefers) return 'defer_cap_exhausted';
  return outlivesJob ? 'retry_after_exceeds_lifetime' : null;
}

/** The spec's delivery lifetime of a job (D8). */
const LONGEST_CREDIBLE_HOLD_MS = 24 * 3600 * 1000;

/**
 * A defer of queue scope holds the queue, and so does any backpressure of the probe, also when the
 * job that asks dies of it: the receiver is as busy as it says. One that asks for longer than a job
 * can live is a mistake of one job and must not stop the queue for years; a probe that says so still
 * showed backpressure, and holds for the default time.
 */
function holdOf(rules: DeliveryRules, ask: Defer, outlivesJob: boolean): QueueEffect | null {
  const isCredible = !outlivesJob || ask.retryAfterMs <= LONGEST_CREDIBLE_HOLD_MS;
  if (isCredible && (ask.scope === 'queue' || rules.isProbe)) return { kind: 'hold', ms: ask.retryAfterMs };
  return rules.isProbe ? { kind: 'hold', ms: DEFAULT_HOLD_MS } : null;
}

/** A job that dies without a delivery: no attempt ended, so no history entry. */
function buried(job: JobState, deadReason: DeadReason): Transition {
  return { ...unchanged(job), status: 'dead', lastError: deadReason, deadReason };
}

/** A delivery that was confirmed but not reported on is an attempt that ended, so it leaves an entry. */
function cancelled(job: JobState, rules: DeliveryRules): Transition {
  if (job.status === 'pending') return buried(job, 'cancelled');
  const failure: Failure = { status: 'failed', error: 'cancelled', statusCode: job.webhookStatusCode };
  return die(job, rules, failure, 'cancelled');
}

function unchanged(job: JobState): Transition {
  const { status, attempts, deferCount, shortHolds, interruptions, lastError } = job;
  return {
    status,
    attempts,
    deferCount,
    shortHolds,
    interruptions,
    lastError,
    waitMs: 0,
    entry: null,
    deadReason: null,
    queueEffect: null,
  };
}

function entryOf(
  job: JobState,
  status: AttemptStatus,
  error: string | null,
  webhookStatusCode: number | null,
): TransitionEntry {
  return { attempt: job.attempts, status, error, webhookStatusCode };
}

function resumeIfProbe(rules: DeliveryRules): QueueEffect | null {
  return rules.isProbe ? { kind: 'resume' } : null;
}

function toMs(seconds: number): number {
  return Math.round(seconds * 1000);
}
