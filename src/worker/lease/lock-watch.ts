import type { Database } from '../../db/connection/database.ts';
import { leaseLocks, workersWithClaims } from '../../db/delivery/lease-locks.ts';

/** Interval between polls. */
const POLL_MS = 500;
/**
 * Interval while this process rests. A worker that claims looks more often,
 * and one that takes over from a dead one is soon woken.
 */
const REST_POLL_MS = { alone: 2000, beside: 1000 };
/** Interval while the lock of a worker is missing. */
const CLOSE_POLL_MS = 250;
/**
 * How long a lock must be absent when the server has no recent confirmation of it. Only polls that find our own lock
 * count. A live worker takes a lost lock again within 1.6 s.
 */
const DEAD_AFTER_MS = 3000;
const MIN_POLLS = 4;
/** After a longer gap between two polls, the polls before it do not count: this process was held up. */
const LONGEST_GAP_MS = 2000;
/**
 * If our own lock was absent, all workers may have lost theirs. Absences count only after this time.
 * `Liveness.recoveringUntil` does not cover it: a lock that was unconfirmed at that poll need not be taken again.
 */
const RECOVERY_MS = 3000;
/**
 * Interval of the search for claims of workers never seen here: from before our start, or written after their death.
 */
const CLAIMS_EVERY_MS = 10_000;

interface LockPoll {
  /** Whether the queried server has our own lock. If not, nothing can be concluded. */
  seen: boolean;
  /** Numbers of the workers that are dead. Their claims should be taken back. */
  dead: number[];
}

interface Absence {
  /** The `performance.now()` of the first poll that missed the lock. */
  since: number;
  polls: number;
}

/** Finds dead workers by their missing lease locks. */
export class LockWatch {
  readonly #db: Database;
  readonly #self: number;
  readonly #recoveringUntil: () => number;
  readonly #deadAfterMs: number;
  #known = new Set<number>();
  #absent = new Map<number, Absence>();
  /** The `performance.now()` from which absences count. */
  #countsFrom = 0;
  #claimsReadAt = Number.NEGATIVE_INFINITY;
  #lastReplyAt = Number.NEGATIVE_INFINITY;

  /**
   * @param recoveringUntil the `performance.now()` until which other workers may still be taking their locks again
   *   (`Liveness.recoveringUntil`)
   */
  constructor(db: Database, self: number, recoveringUntil: () => number, deadAfterMs = DEAD_AFTER_MS) {
    this.#db = db;
    this.#self = self;
    this.#recoveringUntil = recoveringUntil;
    this.#deadAfterMs = deadAfterMs;
  }

  /** Milliseconds until the next poll. */
  nextMs(isResting: boolean): number {
    if (this.#absent.size > 0) return CLOSE_POLL_MS;
    if (!isResting) return POLL_MS;
    return this.#known.size > 1 ? REST_POLL_MS.beside : REST_POLL_MS.alone;
  }

  /** @throws when the database does not reply; the polls before it then no longer count */
  async poll(): Promise<LockPoll> {
    // Before the locks are read. Otherwise a worker that starts between the two queries has claims and seems to have no
    // lock.
    await this.#readClaims();
    const sentAt = performance.now();
    const isConsecutive = sentAt - this.#lastReplyAt <= LONGEST_GAP_MS;
    const absentBefore = isConsecutive ? this.#absent : new Map<number, Absence>();
    this.#absent = new Map();
    const { held: locked, silent } = await leaseLocks(this.#db);
    const repliedAt = performance.now();
    this.#lastReplyAt = repliedAt;
    if (!locked.has(this.#self)) {
      this.#countsFrom = repliedAt + RECOVERY_MS;
      return { seen: false, dead: [] };
    }
    for (const id of locked) this.#known.add(id);
    const isRecovering = repliedAt < Math.max(this.#countsFrom, this.#recoveringUntil());
    if (isRecovering) return { seen: true, dead: [] };
    for (const id of this.#known) {
      if (locked.has(id)) continue;
      const before = absentBefore.get(id) ?? { since: repliedAt, polls: 0 };
      this.#absent.set(id, { since: before.since, polls: before.polls + 1 });
    }
    return { seen: true, dead: [...new Set([...silent, ...this.#absentTooLong(sentAt)])] };
  }

  /** Call when all claims of the worker have been taken back. */
  forget(id: number): void {
    this.#known.delete(id);
    this.#absent.delete(id);
  }

  async #readClaims(): Promise<void> {
    const now = performance.now();
    if (now - this.#claimsReadAt < CLAIMS_EVERY_MS) return;
    this.#claimsReadAt = now;
    for (const id of await workersWithClaims(this.#db)) this.#known.add(id);
  }

  #absentTooLong(sentAt: number): number[] {
    const isDead = ({ since, polls }: Absence) => polls >= MIN_POLLS && sentAt - since >= this.#deadAfterMs;
    return [...this.#absent].flatMap(([id, absence]) => (isDead(absence) ? [id] : []));
  }
}
