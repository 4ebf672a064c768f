import type { Claim } from '../../db/delivery/claim.ts';
import type { WakeReason } from '../../db/delivery/wake-ups.ts';
import type { Amount } from './shares.ts';

/**
 * A job that became due before the bound, and was committed late or put back, waits at most this long for its claim.
 */
export const WHOLE_LOOK_MS = 1000;
/** How much later than the jobs after it a job may be committed and still be found at once. */
const LATE_COMMIT_MS = 1000;

/**
 * From which due time on the claims of a queue look for jobs (`p_since` of `jobferry_claim`): claims take the oldest
 * first, so what was due before is claimed. It is only an estimate. A claim looks at all jobs if it finds none, and
 * each second.
 */
export class DueBound {
  #since: number | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @returns milliseconds of database time; null: the claim looks at all jobs */
  at(monotonic: number): number | null {
    return monotonic - this.#lookedAt < WHOLE_LOOK_MS ? this.#since : null;
  }

  /**
   * @param since as the claim had it
   * @param sentAt when it was sent
   * @returns milliseconds until the next claim can find something without an event, as `Claim.waitMs`
   */
  claimed(since: number | null, sentAt: number, { jobs, waitMs }: Claim): number | null {
    const last = jobs.at(-1);
    const isWhole = since === null || last === undefined;
    if (isWhole) this.#lookedAt = sentAt;
    // Where more is due (0 ms), jobs whose lifetime has ended may be before it, and then jobs are not taken in order.
    this.#since = last === undefined || waitMs === 0 ? null : last.scheduledFor.getTime() - LATE_COMMIT_MS;
    return isWhole || waitMs === null ? waitMs : Math.min(waitMs, WHOLE_LOOK_MS);
  }

  /** A job that was claimed when it was published: no other was due. @param since as the statement had it */
  published(since: number | null, sentAt: number, scheduledFor: Date): void {
    if (since === null) this.#lookedAt = sentAt;
    this.#since = scheduledFor.getTime() - LATE_COMMIT_MS;
  }
}

/** The amount in flight of a queue that this process has no deliveries of. */
export const NOTHING: Readonly<Amount> = { slots: 0, bytes: 0 };

/** `slot`: a delivery of this process has ended, so its slot in the queue is free. */
export type LocalWakeReason = WakeReason | 'slot';

export interface QueueState {
  readonly id: string;
  /** Null until it has been looked up. */
  accountId: string | null;
  /** True while the queue may have work and waits, for its account to be looked up or in the ready list. */
  isReady: boolean;
  /** In flight or reserved: see `ClaimPlanner`. */
  slots: number;
  bytes: number;
  claiming: boolean;
  /** A wake that arrived during a claim: claim again after it. Null when there was none. */
  again: LocalWakeReason | null;
  /** Wakes the queue, or forgets it after polls in vain. */
  timer: NodeJS.Timeout | null;
  /** True if the last claim could not take more until, for example, a delivery or a pause ends. */
  isFull: boolean;
  readonly due: DueBound;
  /** Milliseconds until the next poll for a free slot. */
  pollMs: number;
  /** Number of running deliveries in this process. */
  inFlight: number;
}

/** A queue whose account is known. */
export interface OwnedQueue extends QueueState {
  accountId: string;
}

export function createQueueState(id: string, accountId: string | null, pollMs: number): QueueState {
  return {
    id,
    accountId,
    slots: 0,
    bytes: 0,
    inFlight: 0,
    isReady: false,
    claiming: false,
    again: null,
    timer: null,
    isFull: false,
    pollMs,
    due: new DueBound(),
  };
}

export function isOwned(queue: QueueState): queue is OwnedQueue {
  return queue.accountId !== null;
}
