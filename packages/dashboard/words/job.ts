import type { JobCourse, JobRow } from '../../query/schema/fragments.ts';

/** The fields that sentences about a job need. The results of the operations have these fields, and more. */

/** When a dead job was replayed, and the last job of the chain of its replays. */
interface Replayed {
  replayedAt: string | null;
  lastReplay?:
    | (Pick<JobRow, 'id' | 'state' | 'endedAt' | 'deadReason'> & { deadLetter?: { replayedAt: string | null } | null })
    | null;
}

/** A job in a list. */
export type JobNow = Omit<JobRow, '__typename' | 'idempotencyKey' | 'queue' | 'deadLetter'> & {
  deadLetter?: Replayed | null;
};

/** A job on its own page. */
export type JobWhole = JobNow &
  Omit<JobCourse, 'waiting' | 'attempts' | 'queue'> & {
    /** With the number of due jobs before this one; null if they are more than 1000. */
    waiting: (NonNullable<JobNow['waiting']> & { ahead?: number | null }) | null;
    /** Oldest first. */
    attempts: readonly AttemptNow[];
    queue: QueueOfJob;
  };

export type AttemptNow = Omit<JobCourse['attempts'][number], 'responseBody'>;

export type QueueOfJob = Sometimes<
  Omit<JobCourse['queue'], '__typename' | 'id' | 'name'>,
  'depth' | 'ackTimeoutAction'
>;

/** Fields that are left out where they are not fetched. */
type Sometimes<T, Names extends keyof T> = Omit<T, Names> & Partial<Pick<T, Names>>;

/**
 * Whether attempts are missing: the live stream brings the counts of a job before its page has read the attempts. Holds
 * and attempts that count are counted apart.
 */
export function isBehind({ status, attemptsMade, deferCount, attempts }: JobWhole): boolean {
  const held = attempts.filter((attempt) => attempt.status === 'DEFERRED').length;
  const ended = attemptsMade - (status === 'PROCESSING' || status === 'AWAITING_ACK' ? 1 : 0);
  return attempts.length - held < ended || held < deferCount;
}

/** A text that changes when the job has moved on, or the last of its replays was replayed. */
export function courseOf({ status, attemptsMade, deferCount, scheduledFor, waiting, deadLetter }: JobNow): string {
  const replayed = [deadLetter?.replayedAt, deadLetter?.lastReplay?.deadLetter?.replayedAt];
  return [status, attemptsMade, deferCount, scheduledFor, waiting?.reason, ...replayed].join(' ');
}

/** The job with which a job is compared first: the one that it replays, or else its newest replay. */
export const comparedFirst = (job: { replayOf: { id: string } | null; replays: readonly { id: string }[] }) =>
  job.replayOf?.id ?? job.replays.at(-1)?.id;
