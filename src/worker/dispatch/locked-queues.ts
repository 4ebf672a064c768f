import type { Claim } from '../../db/delivery/claim.ts';
import type { Logger } from '../../log.ts';

/**
 * Approximate delay before a queue is retried that another transaction had locked, or whose due jobs it had locked: a tenth of
 * the time for which it has been locked, within these bounds.
 */
const RETRY_MS = { least: 25, most: 1000 };
/** Claims and edits lock a queue for milliseconds. After this time a person should look, and is told again after a minute. */
const LONG_MS = 10_000;
const AGAIN_MS = 60_000;
/** Queues that are remembered; above it, all are forgotten. */
const MAX_QUEUES = 5000;

/** Notices queues that another session keeps locked. A claim passes over them, so nothing waits that the server would show. */
export class LockedQueues {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #since = new Map<string, { at: number; saidAt: number | null }>();

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** @returns milliseconds until the next claim of a queue that was passed over; null if it was not */
  delayOf(queueId: string, { waitMs, jobs }: Claim): number | null {
    if (waitMs !== 0 || jobs.length > 0) {
      if (this.#since.size > 0) this.#since.delete(queueId);
      return null;
    }
    const delayMs = Math.min(Math.max(this.#note(queueId) / 10, RETRY_MS.least), RETRY_MS.most);
    // Random, because processes that retry at the same moment would lock each other out again.
    return delayMs * (0.5 + Math.random());
  }

  /** @returns for how long the queue has been locked, in milliseconds */
  #note(queueId: string): number {
    const now = performance.now();
    const known = this.#since.get(queueId);
    if (known === undefined) {
      if (this.#since.size >= MAX_QUEUES) this.#since.clear();
      this.#since.set(queueId, { at: now, saidAt: null });
      return 0;
    }
    const lockedMs = Math.round(now - known.at);
    if (lockedMs < LONG_MS || (known.saidAt !== null && now - known.saidAt < AGAIN_MS)) return lockedMs;
    known.saidAt = now;
    this.#log.warn(
      { queueId, lockedMs },
      'another session keeps a queue locked, so its jobs are not delivered: `doctor` names it',
    );
    return lockedMs;
  }
}
