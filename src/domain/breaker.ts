import { backoffMs } from './backoff.ts';
import { invalidField } from './errors.ts';
import type { DeliveryRules, JobState, Moment, Transition } from './job-state.ts';
import type { AttemptOutcome } from './outcome.ts';

/**
 * The breaker of a queue: while every answer of its receiver fails, the queue is held and one job at a time probes the
 * receiver (docs/decisions/0053). This module decides what each answer means; `jobferry_settle_holds` counts, opens and
 * closes.
 */

/** When a breaker opens; at least one of both is set. */
export interface BreakerSettings {
  /** Number of failed answers in a row that opens the breaker; null if their number does not. */
  failures: number | null;
  /**
   * The breaker opens when at least two answers in a row have failed, the first of them at least this many seconds ago;
   * null if time does not open it.
   */
  seconds: number | null;
}

const BREAKER_LIMITS = { failures: { min: 2, max: 1000 }, seconds: { min: 1, max: 3600 } } as const;

/**
 * Returns when a breaker opened; null while it is closed. Whatever else ends the hold of a queue has closed its
 * breaker, too.
 */
export function breakerOpenSince(queue: { holdUntil: Date | null; breakerOpenedAt: Date | null }): Date | null {
  return queue.holdUntil === null ? null : queue.breakerOpenedAt;
}

/** A hold of a queue that lasts. */
export interface QueueHold {
  isByBreaker: boolean;
  /** Whether its time is over: the next job, or the one in flight, probes the receiver. */
  isOver: boolean;
  isProbing: boolean;
}

/**
 * Returns the hold of a queue: until its end, while a job probes its receiver, and as long as its breaker is open. An
 * open breaker probes with the next job, so without one it stays open after the end of the hold. Null if the queue is
 * not held.
 */
export function holdOf(
  queue: { holdUntil: Date | null; probeJobId: string | null; breakerOpenedAt: Date | null },
  now: Date,
): QueueHold | null {
  if (queue.holdUntil === null) return null;
  const isByBreaker = breakerOpenSince(queue) !== null;
  const isProbing = queue.probeJobId !== null;
  const isOver = queue.holdUntil <= now;
  return isOver && !isProbing && !isByBreaker ? null : { isByBreaker, isOver, isProbing };
}

/** Returns the first limit that is out of its bounds, and what it must be; null for none. */
export function breakerProblem(limits: BreakerSettings): { field: keyof BreakerSettings; text: string } | null {
  for (const field of ['failures', 'seconds'] as const) {
    const [value, { min, max }] = [limits[field], BREAKER_LIMITS[field]];
    if (value !== null && !(Number.isInteger(value) && value >= min && value <= max))
      return { field, text: `must be a whole number from ${min} to ${max}` };
  }
  return null;
}

/** @throws JobferryError `invalid_fields` */
export function assertBreaker(limits: BreakerSettings): void {
  if (limits.failures === null && limits.seconds === null) {
    throw invalidField('breaker', 'needs failures, seconds or both');
  }
  const problem = breakerProblem(limits);
  if (problem !== null) throw invalidField(`breaker.${problem.field}`, problem.text);
}

/**
 * Adds the meaning of an answer for the queue's breaker to what was decided about the job. A probe that fails does not
 * use up an attempt or a hold of its job: otherwise a long outage would end jobs that only tested the receiver. 429 and
 * 529 tell that the receiver is alive but busy, which is what holds are for, so they count neither way.
 */
export function tellBreaker(
  decided: Transition,
  job: JobState,
  rules: DeliveryRules,
  outcome: AttemptOutcome,
  moment: Moment,
): Transition {
  if (rules.hasBreaker !== true) return decided;
  if (outcome.kind === 'accepted') {
    return { ...decided, queueEffect: { kind: decided.status === 'awaiting_ack' ? 'accepted' : 'alive' } };
  }
  if (outcome.kind === 'backpressure' && outcome.statusCode !== 503) return decided;
  const effect = decided.queueEffect;
  const counted: Transition = {
    ...decided,
    queueEffect: { kind: 'failing', ms: effect?.kind === 'hold' ? effect.ms : null },
  };
  return rules.isProbe ? spare(counted, job, outcome, moment) : counted;
}

/** The longest pause between two probes, as in `jobferry_breaker_pause`. */
const LONGEST_PAUSE_MS = 300_000;

/**
 * The probe's job waits and is tried again, unless its receiver says that it must not be or its lifetime is over. It
 * may be the only job, so it waits for no longer than a probe does, and then for half of what is left of its lifetime
 * at most.
 */
function spare(
  counted: Transition,
  job: JobState,
  outcome: Exclude<AttemptOutcome, { kind: 'accepted' }>,
  moment: Moment,
): Transition {
  const isRefused = outcome.kind === 'failed' && outcome.isPermanent === true;
  const waitMs =
    outcome.kind === 'backpressure'
      ? Math.max(counted.waitMs, outcome.retryAfterMs)
      : Math.min(backoffMs(job.backoffType, job.backoffDelay, job.attempts, moment.random), LONGEST_PAUSE_MS);
  const leftMs = job.deliverBy - moment.now;
  if (isRefused || leftMs < 2) return counted;
  const { statusCode } = outcome;
  const error = outcome.kind === 'failed' ? outcome.error : `HTTP ${statusCode}`;
  return {
    ...counted,
    status: 'pending',
    attempts: job.attempts - 1,
    deferCount: job.deferCount,
    interruptions: 0,
    waitMs: waitMs < leftMs ? waitMs : Math.floor(leftMs / 2),
    lastError: error,
    deadReason: null,
    entry: { attempt: job.attempts, status: 'deferred', error, webhookStatusCode: statusCode },
  };
}
