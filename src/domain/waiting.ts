/** Why a pending job is not being delivered now, in the order in which claiming looks. */
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
  /** Nothing stands in its way: a worker takes it in a moment, or none is running. */
  'due',
] as const;
type WaitReason = (typeof WAIT_REASONS)[number];

/** Why a pending job is not being delivered now. */
export interface Waiting {
  reason: WaitReason;
  /** A sentence for people. */
  message: string;
  /** The earliest time at which it can start; null when only an event can let it go. */
  earliestAt: Date | null;
}

/** What is to be known of a pending job. */
export interface WaitingJob {
  scheduledFor: Date;
  /** What it was sent back for; null before its first attempt. */
  waitReason: 'backoff' | 'hold' | null;
  lastError: string | null;
  /** Attempts that counted, of so many. */
  attempts: number;
  maxAttempts: number;
}

/** What is to be known of its queue. */
export interface WaitingQueue {
  deleted: boolean;
  paused: { since: Date; by: string } | null;
  hold: { until: Date; jobId: string | null; reason: string | null } | null;
  /** The job that finds out whether the held queue may resume, while it is in flight. */
  probeJobId: string | null;
  inFlight: number;
  concurrency: number;
  rate: { used: number; max: number; resetsAt: Date } | null;
}

/**
 * Several things may stand in a job's way at once; the one that is answered is the one that goes last:
 * what has no known end before all others (deletion, pause), then the latest of the times, and only for a
 * job that no time keeps back what ends with an event (probe, concurrency), because that may have passed
 * long before the job's time comes.
 */
export function whyWaiting(job: WaitingJob, queue: WaitingQueue, now: Date): Waiting {
  if (queue.deleted) return event('queue_deleted', 'Its queue was deleted: it becomes dead in a moment.');
  if (queue.paused !== null) {
    const { by, since } = queue.paused;
    return event('paused', `The queue has been paused by ${by} since ${iso(since)}.`);
  }
  const latest = [ownTime(job), holdTime(queue), rateTime(queue)]
    .filter((time) => time !== null)
    .filter(({ at }) => at > now)
    // Of equal times the first: what is the job's own comes before what is the queue's.
    .reduce<Time | null>((last, time) => (last === null || time.at > last.at ? time : last), null);
  if (latest !== null) return { reason: latest.reason, message: latest.message, earliestAt: latest.at };
  if (queue.probeJobId !== null) {
    return event('probe_in_flight', `The queue goes on when its probe, job ${queue.probeJobId}, has ended.`);
  }
  if (queue.inFlight >= queue.concurrency) {
    return event('concurrency', `All slots of the queue are taken: ${queue.inFlight} of ${queue.concurrency}.`);
  }
  return {
    reason: 'due',
    message: 'Nothing stands in its way: a worker takes it when its turn comes.',
    earliestAt: now,
  };
}

interface Time {
  reason: WaitReason;
  message: string;
  at: Date;
}

function ownTime({ scheduledFor: at, waitReason, lastError, attempts, maxAttempts }: WaitingJob): Time {
  const after = lastError === null ? '' : ` after “${lastError}”`;
  switch (waitReason) {
    case null:
      return { reason: 'delayed', message: `Delayed until ${iso(at)}.`, at };
    case 'backoff':
      return {
        reason: 'backoff',
        message: `In backoff until ${iso(at)}${after}: attempt ${attempts} of ${maxAttempts} failed.`,
        at,
      };
    case 'hold':
      return { reason: 'held', message: `Held until ${iso(at)}${after}: its receiver asked for time.`, at };
  }
}

function holdTime({ hold }: WaitingQueue): Time | null {
  if (hold === null) return null;
  const who = hold.jobId === null ? '' : `, as job ${hold.jobId} asked for`;
  const why = hold.reason === null ? '' : `: “${hold.reason}”`;
  return { reason: 'queue_held', message: `The queue is held until ${iso(hold.until)}${who}${why}.`, at: hold.until };
}

function rateTime({ rate }: WaitingQueue): Time | null {
  if (rate === null || rate.used < rate.max) return null;
  const message = `The rate limit of ${rate.max} deliveries is used up until ${iso(rate.resetsAt)}.`;
  return { reason: 'rate_limit', message, at: rate.resetsAt };
}

function event(reason: WaitReason, message: string): Waiting {
  return { reason, message, earliestAt: null };
}

function iso(at: Date): string {
  return at.toISOString();
}
