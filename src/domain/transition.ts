import { backoffMs } from './backoff.ts';
import { tellBreaker } from './breaker.ts';
import type { AttemptStatus, DeadReason, JobStatus } from './job.ts';
import type {
  DeferScope,
  DeliveryRules,
  JobEvent,
  JobState,
  Moment,
  QueueEffect,
  Transition,
  TransitionEntry,
} from './job-state.ts';
import { type AttemptOutcome, DEFAULT_HOLD_MS } from './outcome.ts';

/** A hold below this is short. Rate limiters that round down request 0 s, and so does a date that has just passed. */
const SHORT_HOLD_MS = 1000;
/** This many short holds in a row keep the requested length; the following ones are stretched. */
const UNSTRETCHED_HOLDS = 3;
const LONGEST_STRETCHED_HOLD_MS = 60_000;

/** Returns the number of short holds in a row up to and including this one; 0 if this one is not short. */
function countShortHolds(before: number, holdMs: number): number {
  return holdMs < SHORT_HOLD_MS ? before + 1 : 0;
}

/**
 * Stretches short holds: a receiver that keeps requesting an immediate retry would use up a job's holds within a second
 * (D6).
 */
function stretchedHoldMs(holdMs: number, shortHolds: number): number {
  if (shortHolds <= UNSTRETCHED_HOLDS) return holdMs;
  return Math.min(SHORT_HOLD_MS * 2 ** (shortHolds - UNSTRETCHED_HOLDS - 1), LONGEST_STRETCHED_HOLD_MS);
}

/**
 * The state machine of a job: an event and a state give the next state. It is pure, so that every rule
 * of the spec's "States and transitions" is a table row in a test. `db/delivery/settle` writes the
 * result, but only if the job still has the status and the claim token that the decision was based on.
 *
 * One transition is not here: pending -> processing. A claim decides about a whole queue
 * (concurrency, rate window, hold, probe), in SQL under the queue's lock (`db/delivery/claim`).
 */

export type {
  DeferScope,
  DeliveryRules,
  JobEvent,
  JobState,
  Moment,
  Transition,
  TransitionEntry,
} from './job-state.ts';

/** This many lost claims in a row count as one failed attempt, so that a job that kills its workers ends. */
export const MAX_INTERRUPTIONS = 10;

/** The statuses in which each event is allowed; in any other, `transition` returns null. */
const EXPECTED_STATUS: Record<JobEvent['type'], readonly JobStatus[]> = {
  answered: ['processing'],
  unsent: ['processing'],
  interrupted: ['processing'],
  acked: ['awaiting_ack'],
  nacked: ['awaiting_ack'],
  deferred: ['awaiting_ack'],
  ack_timed_out: ['awaiting_ack'],
  lifetime_ended: ['pending'],
  queue_deleted: ['pending'],
  // Not while the request is being sent: it cannot be undone.
  cancelled: ['pending', 'awaiting_ack'],
};

/** Returns the state of a job after an event, or null if the job's status does not allow the event. */
export function transition(job: JobState, rules: DeliveryRules, event: JobEvent, moment: Moment): Transition | null {
  if (!EXPECTED_STATUS[event.type].includes(job.status)) return null;
  switch (event.type) {
    case 'answered':
      return tellBreaker(applyAnswer(job, rules, event.outcome, moment), job, rules, event.outcome, moment);
    case 'unsent':
      return putBack(job, rules, event);
    case 'acked':
      return complete(job, rules, job.webhookStatusCode);
    case 'nacked':
      return applyNack(job, rules, event, moment);
    case 'deferred':
      return defer(job, rules, { ...event, error: event.reason, statusCode: job.webhookStatusCode }, moment);
    case 'ack_timed_out':
      return applyAckTimeout(job, rules, moment);
    case 'interrupted':
      return applyInterruption(job, rules, moment);
    case 'lifetime_ended':
      return moment.now < job.deliverBy ? null : die(job, 'delivery_lifetime_exceeded', null);
    case 'queue_deleted':
      return die(job, 'queue_deleted', null);
    case 'cancelled':
      return cancel(job, rules);
  }
}

function applyAnswer(job: JobState, rules: DeliveryRules, outcome: AttemptOutcome, moment: Moment): Transition {
  const { statusCode } = outcome;
  switch (outcome.kind) {
    case 'accepted':
      if (rules.mode === 'standard') return complete(job, rules, statusCode);
      return { ...keep(job), status: 'awaiting_ack', waitMs: Math.round(rules.ackTimeout * 1000) };
    case 'backpressure': {
      const { retryAfterMs } = outcome;
      return defer(job, rules, { retryAfterMs, scope: 'job', error: `HTTP ${statusCode}`, statusCode }, moment);
    }
    case 'failed':
      return fail(job, rules, { ...outcome, status: 'failed', isFinal: outcome.isPermanent }, moment);
  }
}

function complete(job: JobState, rules: DeliveryRules, statusCode: number | null): Transition {
  return {
    ...keep(job),
    status: 'completed',
    interruptions: 0,
    entry: makeEntry(job, 'success', null, statusCode),
    queueEffect: resumeIfProbe(rules),
  };
}

function applyNack(
  job: JobState,
  rules: DeliveryRules,
  event: { retryable: boolean; reason: string | null },
  moment: Moment,
): Transition {
  const { reason: error, retryable } = event;
  const statusCode = job.webhookStatusCode;
  return fail(job, rules, { status: 'nacked', error, statusCode, isFinal: !retryable }, moment);
}

function applyAckTimeout(job: JobState, rules: DeliveryRules, moment: Moment): Transition {
  const failure: Failure = { status: 'failed', error: 'ack_timeout', statusCode: job.webhookStatusCode };
  if (rules.ackTimeoutAction === 'retry') return fail(job, rules, failure, moment);
  return failForGood(job, rules, failure, 'ack_timeout');
}

/** The worker was lost. That is Jobferry's fault, so the attempt does not count, up to a bound (D2). */
function applyInterruption(job: JobState, rules: DeliveryRules, moment: Moment): Transition {
  const interruptions = job.interruptions + 1;
  if (interruptions >= MAX_INTERRUPTIONS) {
    return fail(job, rules, { status: 'failed', error: 'worker_lost', statusCode: null }, moment);
  }
  return {
    ...keep(job),
    status: 'pending',
    attempts: job.attempts - 1,
    interruptions,
    queueEffect: resumeIfProbe(rules),
  };
}

/** No request was sent, so no attempt ended: nothing is in the history or billed, and only the lifetime goes on. */
function putBack(
  job: JobState,
  rules: DeliveryRules,
  { error, waitMs }: { error: string; waitMs: number },
): Transition {
  const putBack = { attempts: job.attempts - 1, isBilled: false, queueEffect: resumeIfProbe(rules) };
  return { ...keep(job), ...putBack, status: 'pending', waitMs, lastError: error };
}

interface Failure {
  status: 'failed' | 'nacked';
  error: string | null;
  statusCode: number | null;
  /** Whether the worker or the receiver says that the job must not be tried again (D39). */
  isFinal?: boolean | undefined;
}

/**
 * The attempt counts as failed. The job is retried with backoff while attempts and lifetime remain (D4, D8, D9, D10).
 */
function fail(job: JobState, rules: DeliveryRules, failure: Failure, moment: Moment): Transition {
  if (failure.isFinal) return failForGood(job, rules, failure, 'nacked');
  if (job.attempts >= job.maxAttempts) return failForGood(job, rules, failure, 'attempts_exhausted');
  const waitMs = backoffMs(job.backoffType, job.backoffDelay, job.attempts, moment.random);
  if (moment.now + waitMs >= job.deliverBy) {
    const reason = 'delivery_lifetime_exceeded';
    return failForGood(job, rules, { ...failure, error: reason }, reason);
  }
  return {
    ...keep(job),
    status: 'pending',
    shortHolds: 0,
    interruptions: 0,
    waitMs,
    lastError: failure.error ?? failure.status,
    entry: makeEntry(job, failure.status, failure.error, failure.statusCode),
    queueEffect: resumeIfProbe(rules),
  };
}

function failForGood(job: JobState, rules: DeliveryRules, failure: Failure, deadReason: DeadReason): Transition {
  const entry = makeEntry(job, failure.status, failure.error, failure.statusCode);
  return { ...die(job, deadReason, entry), queueEffect: resumeIfProbe(rules) };
}

/** @param entry of the attempt that the job died of; null if it died without a delivery, so that no attempt ended */
function die(job: JobState, deadReason: DeadReason, entry: TransitionEntry | null): Transition {
  const kept: Transition = { ...keep(job), status: 'dead', deadReason, entry };
  if (entry === null) return { ...kept, lastError: deadReason };
  return { ...kept, interruptions: 0, lastError: entry.error ?? entry.status };
}

interface Defer {
  retryAfterMs: number;
  scope: DeferScope;
  error: string | null;
  statusCode: number | null;
}

/**
 * Backpressure, from the webhook's answer or from a defer request: the job is held and the attempt does not
 * count, until the job has used up its holds (D7) or the hold would outlast the delivery lifetime (D8).
 */
function defer(job: JobState, rules: DeliveryRules, requested: Defer, moment: Moment): Transition {
  const shortHolds = countShortHolds(job.shortHolds, requested.retryAfterMs);
  const hold = { ...requested, retryAfterMs: stretchedHoldMs(requested.retryAfterMs, shortHolds) };
  // Equal counts too: a job cannot be claimed at the very end of its lifetime.
  const outlivesJob = moment.now + hold.retryAfterMs >= job.deliverBy;
  const refund = {
    attempts: job.attempts - 1,
    shortHolds,
    queueEffect: decideHold(rules, hold, outlivesJob),
  };
  const deadReason = findDeferDeath(job, rules, outlivesJob);
  if (deadReason !== null) {
    return { ...die(job, deadReason, makeEntry(job, 'deferred', deadReason, hold.statusCode)), ...refund };
  }
  return {
    ...keep(job),
    ...refund,
    status: 'pending',
    interruptions: 0,
    deferCount: job.deferCount + 1,
    waitMs: hold.retryAfterMs,
    lastError: hold.error ?? job.lastError,
    entry: makeEntry(job, 'deferred', hold.error, hold.statusCode),
  };
}

/** Returns why the job dies instead of being held, or null. */
function findDeferDeath(job: JobState, rules: DeliveryRules, outlivesJob: boolean): DeadReason | null {
  if (job.deferCount >= rules.maxDefers) return 'defer_cap_exhausted';
  return outlivesJob ? 'retry_after_exceeds_lifetime' : null;
}

/** The spec's delivery lifetime of a job (D8). A longer hold is treated as a mistake. */
const LONGEST_CREDIBLE_HOLD_MS = 24 * 3600 * 1000;

/**
 * A defer of queue scope holds the queue, and so does any backpressure of the probe. Both do so even if
 * the job itself dies: the receiver is busy all the same. A hold that is longer than a job can live is
 * treated as a mistake of one job, and must not stop the queue for years. If the probe requested it, the
 * receiver still showed backpressure, so the queue is held for the default time.
 */
function decideHold(rules: DeliveryRules, hold: Defer, outlivesJob: boolean): QueueEffect | null {
  const isCredible = !outlivesJob || hold.retryAfterMs <= LONGEST_CREDIBLE_HOLD_MS;
  if (isCredible && (hold.scope === 'queue' || rules.isProbe)) return { kind: 'hold', ms: hold.retryAfterMs };
  return rules.isProbe ? { kind: 'hold', ms: DEFAULT_HOLD_MS } : null;
}

/** A job that awaits its report has been delivered, so its attempt ends and gets a history entry. */
function cancel(job: JobState, rules: DeliveryRules): Transition {
  if (job.status === 'pending') return die(job, 'cancelled', null);
  const failure: Failure = { status: 'failed', error: 'cancelled', statusCode: job.webhookStatusCode };
  return failForGood(job, rules, failure, 'cancelled');
}

/** Returns the job as it is, with nothing to wait for, to record or to do. */
function keep(job: JobState): Transition {
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
    isBilled: true,
  };
}

function makeEntry(
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
