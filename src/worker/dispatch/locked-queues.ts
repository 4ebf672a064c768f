import type { Claim } from '../../db/delivery/claim.ts';
import { type LockHolder, locksInWords } from '../../domain/doctor-locks.ts';
import type { Logger } from '../../telemetry/log.ts';

/**
 * Approximate delay before a queue is retried that another transaction had locked, or whose due jobs it had locked: a
 * tenth of the time for which it has been locked, within these bounds.
 */
const RETRY_MS = { least: 25, most: 1000 };
/**
 * Claims and edits lock a queue for milliseconds. A queue that is locked for longer than this is logged, and again
 * after a minute, because a person should look.
 */
const LONG_MS = 10_000;
const AGAIN_MS = 60_000;
/** A queue that was not claimed for this long does not count as locked: nothing is known of it any more. */
const FORGOTTEN_MS = 5000;
/** How often a failed claim is a reason to look for locked tables. */
const LOOK_EVERY_MS = 5000;
/** Queues that are remembered; above it, all are forgotten. */
const MAX_QUEUES = 5000;

const QUEUE_LOCKED = 'another session keeps a queue locked, so its jobs are not delivered: `doctor` names it';
const TABLES_LOCKED = 'claims fail while another session has locks on the tables';

interface Locked {
  since: number;
  seenAt: number;
  saidAt: number | null;
}

/**
 * Notices queues that another session keeps locked. A claim skips such queues, so no session waits for their locks, and
 * the server shows no waiting session. A locked table is another matter: claims wait for it until their time limit.
 */
export class LockedQueues {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #whoLocks: () => Promise<readonly LockHolder[]>;
  readonly #blindRole: () => Promise<string | null>;
  readonly #known = new Map<string, Locked>();
  #tablesSaidAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param whoLocks reads which sessions have had locks on the tables for a while
   * @param blindRole reads the database role if it cannot see sessions of other roles
   */
  constructor(
    log: Pick<Logger, 'warn'>,
    whoLocks: () => Promise<readonly LockHolder[]>,
    blindRole: () => Promise<string | null> = async () => null,
  ) {
    this.#log = log;
    this.#whoLocks = whoLocks;
    this.#blindRole = blindRole;
  }

  /** Queues that have been locked for so long that a person should look. */
  get count(): number {
    const now = performance.now();
    const isLong = ({ since, seenAt }: Locked) => seenAt - since >= LONG_MS && now - seenAt < FORGOTTEN_MS;
    return [...this.#known.values()].filter(isLong).length;
  }

  /** @returns milliseconds until the next claim of a queue that was passed over; null if it was not */
  delayOf(queueId: string, { waitMs, jobs }: Claim): number | null {
    if (waitMs !== 0 || jobs.length > 0) {
      if (this.#known.size > 0) this.#known.delete(queueId);
      return null;
    }
    const delayMs = Math.min(Math.max(this.#note(queueId) / 10, RETRY_MS.least), RETRY_MS.most);
    // Random, because processes that retry at the same moment would lock each other out again.
    return delayMs * (0.5 + Math.random());
  }

  /** A claim has failed. If another session locks the tables, that is most likely the reason. */
  claimFailed(): void {
    const now = performance.now();
    if (now - this.#tablesSaidAt < AGAIN_MS || now - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = now;
    void this.#names().then((names) => {
      if (names.length === 0) return;
      this.#tablesSaidAt = now;
      this.#log.warn({ lockedBy: names }, TABLES_LOCKED);
    });
  }

  /** @returns for how long the queue has been locked, in milliseconds */
  #note(queueId: string): number {
    const now = performance.now();
    const known = this.#known.get(queueId);
    // If no claim has tried the queue meanwhile, the lock may be another one.
    if (known === undefined || now - known.seenAt >= FORGOTTEN_MS) {
      if (this.#known.size >= MAX_QUEUES) this.#known.clear();
      this.#known.set(queueId, { since: now, seenAt: now, saidAt: null });
      return 0;
    }
    known.seenAt = now;
    const lockedMs = Math.round(now - known.since);
    if (lockedMs < LONG_MS || (known.saidAt !== null && now - known.saidAt < AGAIN_MS)) return lockedMs;
    known.saidAt = now;
    void this.#names().then((names) => this.#log.warn({ queueId, lockedMs, lockedBy: names }, QUEUE_LOCKED));
    return lockedMs;
  }

  /** Sessions in words, each with the statement that ends it. */
  async #names(): Promise<string[]> {
    const holders = await this.#whoLocks().catch(() => []);
    return locksInWords(holders, await this.#blindRole().catch(() => null));
  }
}
