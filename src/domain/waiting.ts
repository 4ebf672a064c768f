import { adviceOn, DEFAULT_HOLD_MS, isBackpressure, isOwnError, isOwnFailure } from './outcome.ts';
import { allAwaitReports, REPORTS_ADVICE, slotsInUse } from './queue-slots.ts';

/** Why a pending job is not being delivered now, in the order in which a claim checks. */
export const WAIT_REASONS = [
  'queue_deleted',
  'paused',
  'delayed',
  'backoff',
  'held',
  'queue_held',
  'probe_in_flight',
  'concurrency',
  'rate_limit',
  /** Nothing delays the job: a worker claims it in its turn. */
  'due',
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Why a pending job is not being delivered now. */
export interface Waiting {
  reason: WaitReason;
  /** A sentence for people. */
  message: string;
  /** Earliest time at which the delivery can start; null if it waits for an event. */
  earliestAt: Date | null;
}

/** The facts about a pending job that the reason depends on. */
export interface WaitingJob {
  scheduledFor: Date;
  /** Why the last attempt made the job wait; null before its first attempt. */
  waitReason: 'backoff' | 'hold' | null;
  lastError: string | null;
  /** Attempts that counted, at most `maxAttempts`. */
  attempts: number;
  maxAttempts: number;
}

/** The facts about the job's queue that the reason depends on. */
export interface WaitingQueue {
  deleted: boolean;
  paused: { since: Date; by: string } | null;
  hold: { until: Date; jobId: string | null; reason: string | null; byBreaker?: boolean } | null;
  /** Whether the queue has a breaker; undefined if it has none. */
  hasBreaker?: boolean;
  /** Id of the job that tests whether the held queue may resume; null when that job is not in flight. */
  probeJobId: string | null;
  /** Jobs that are processing or awaiting_ack, and how many of them await a report. */
  inFlight: number;
  awaitingAck: number;
  concurrency: number;
  rate: { used: number; max: number; resetsAt: Date } | null;
}

/**
 * Several reasons may delay a job at once. Returns the one that will end last. Reasons without a known end
 * (deletion, pause) come first, then the latest of the times. A reason that ends with an event (probe,
 * concurrency) is returned only if no time delays the job, because the event may pass long before that time.
 */
export function whyWaiting(job: WaitingJob, queue: WaitingQueue, now: Date): Waiting {
  if (queue.deleted) return event('queue_deleted', 'The queue was deleted: the job becomes dead in a moment.');
  if (queue.paused !== null) {
    const { by, since } = queue.paused;
    return event('paused', `The queue has been paused by ${by} since ${iso(since)}.`);
  }
  const latest = [ownTime(job, queue), holdTime(queue), rateTime(queue)]
    .filter((time) => time !== null)
    .filter(({ at }) => at > now)
    // If times are equal, the first one wins: the job's own time comes before those of the queue.
    .reduce<Time | null>((last, time) => (last === null || time.at > last.at ? time : last), null);
  if (latest !== null) return { reason: latest.reason, message: latest.message, earliestAt: latest.at };
  if (queue.probeJobId !== null) {
    return event('probe_in_flight', `The queue resumes when its probe, job ${queue.probeJobId}, has ended.`);
  }
  if (queue.inFlight >= queue.concurrency) {
    const advice = allAwaitReports(queue) ? ` ${REPORTS_ADVICE}` : '';
    return event('concurrency', `All slots of the queue are taken: ${slotsInUse(queue)}.${advice}`);
  }
  return {
    reason: 'due',
    message: 'Nothing delays the job: a worker claims it in its turn.',
    earliestAt: now,
  };
}

/** Why a queue delivers none of its due jobs, or `due`. */
export interface QueueWait {
  reason: WaitReason;
  /**
   * Jobs that are scheduled for this time or later wait for that time instead; null if the reason holds for all jobs.
   */
  until: Date | null;
}

/**
 * Returns the part of `whyWaiting` that is the same for all jobs of a queue, so that jobs can be found by their reason.
 */
export function waitOfQueue(queue: WaitingQueue, now: Date): QueueWait {
  const { reason, earliestAt } = whyWaiting(DUE_LONG_AGO, queue, now);
  if (reason === 'queue_deleted' || reason === 'paused') return { reason, until: null };
  return { reason, until: earliestAt ?? now };
}

const DUE_LONG_AGO: WaitingJob = {
  scheduledFor: new Date(0),
  waitReason: null,
  lastError: null,
  attempts: 0,
  maxAttempts: 1,
};

/** Returns the sentence without the texts that a receiver wrote. */
export function waitingMessageWithoutTexts(job: WaitingJob, queue: WaitingQueue, now: Date): string {
  const { lastError } = job;
  const plainJob = { ...job, lastError: lastError !== null && isOwnError(lastError) ? lastError : null };
  const plainQueue = { ...queue, hold: queue.hold === null ? null : { ...queue.hold, reason: null } };
  return whyWaiting(plainJob, plainQueue, now).message;
}

interface Time {
  reason: WaitReason;
  message: string;
  at: Date;
}

function ownTime(
  { scheduledFor: at, waitReason, lastError, attempts, maxAttempts }: WaitingJob,
  { hasBreaker = false }: WaitingQueue,
): Time {
  const after = lastError === null ? '' : ` after “${lastError}”`;
  const advice = spaced(adviceOn(lastError));
  switch (waitReason) {
    case null:
      return { reason: 'delayed', message: `Delayed until ${iso(at)}.`, at };
    case 'backoff': {
      // A delivery that could not begin was no attempt.
      const failed = isOwnFailure(lastError) ? '' : `: attempt ${attempts} of ${maxAttempts} failed`;
      return { reason: 'backoff', message: `In backoff until ${iso(at)}${after}${failed}.${advice}`, at };
    }
    case 'hold':
      return { reason: 'held', message: `Held until ${iso(at)}${after}: ${holdSource(lastError, hasBreaker)}.`, at };
  }
}

function spaced(sentence: string | null): string {
  return sentence === null ? '' : ` ${sentence}`;
}

/** The time that a receiver asked for is not stored, so after a status code it may be the default. */
function holdSource(lastError: string | null, hasBreaker: boolean): string {
  const code = /^HTTP (\d{3})$/.exec(lastError ?? '')?.[1];
  const isFailure = code === undefined ? lastError !== null && isOwnError(lastError) : !isBackpressure(Number(code));
  // A worker may also give such a reason for its defer.
  if (isFailure && hasBreaker) return 'it was the probe of a breaker, which uses up no attempt';
  if (code === undefined) return 'the receiver requested a delay';
  return `the time is that of the receiver’s Retry-After, or the default of ${DEFAULT_HOLD_MS / 1000} s`;
}

function holdTime({ hold }: WaitingQueue): Time | null {
  if (hold === null) return null;
  if (hold.byBreaker === true) {
    const message = `The queue’s breaker is open, because its receiver fails: the next probe is at ${iso(hold.until)}.`;
    return { reason: 'queue_held', message, at: hold.until };
  }
  const by = hold.jobId === null ? '' : `, as job ${hold.jobId} requested`;
  const why = hold.reason === null ? '' : `: “${hold.reason}”`;
  return { reason: 'queue_held', message: `The queue is held until ${iso(hold.until)}${by}${why}.`, at: hold.until };
}

function rateTime({ rate }: WaitingQueue): Time | null {
  if (rate === null || rate.used < rate.max) return null;
  const message = `The rate limit of ${rate.max} per window is used up until ${iso(rate.resetsAt)}.`;
  return { reason: 'rate_limit', message, at: rate.resetsAt };
}

function event(reason: WaitReason, message: string): Waiting {
  return { reason, message, earliestAt: null };
}

function iso(at: Date): string {
  return at.toISOString();
}
