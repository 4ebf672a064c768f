import type { Database } from '../../db/connection/database.ts';
import { leaseLocks, workersWithClaims } from '../../db/delivery/lease-locks.ts';

/** How often to look, and how often while a worker is missing. */
export const LOOK_MS = 500;
export const CLOSE_LOOK_MS = 250;
/**
 * How long a lock must be absent, by looks that each have seen our own, where the server does not know when it was last
 * confirmed; a worker has its own back in 1.6 s.
 */
const DEAD_AFTER_MS = 3000;
const LEAST_LOOKS = 4;
/** Looks further apart do not belong together: this process was held up, and knows nothing of the time between. */
const LONGEST_GAP_MS = 2000;
/** After our own lock was absent, all may have lost theirs: they have so much longer. */
const RECOVERY_MS = 3000;
/** Claims without a worker that we ever saw: those of before our start, or written after their worker had died. */
const CLAIMS_EVERY_MS = 10_000;

export interface Look {
  /** Whether the server that was asked has our own lock. If not, nothing can be concluded. */
  seen: boolean;
  /** Numbers of the workers that are dead. The claims of each should be taken back. */
  dead: number[];
}

interface Absence {
  /** Of `performance.now()`: the lock was absent then, or shortly before. */
  since: number;
  looks: number;
}

/** Finds workers that died, by their lease locks. */
export class DeathWatch {
  readonly #db: Database;
  readonly #self: number;
  readonly #deadAfterMs: number;
  #known = new Set<number>();
  #absent = new Map<number, Absence>();
  /** Of `performance.now()`: absences count from then on. */
  #countsFrom = 0;
  #claimsReadAt = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;

  constructor(db: Database, self: number, deadAfterMs = DEAD_AFTER_MS) {
    this.#db = db;
    this.#self = self;
    this.#deadAfterMs = deadAfterMs;
  }

  /** How long until the next look. */
  get nextMs(): number {
    return this.#absent.size > 0 ? CLOSE_LOOK_MS : LOOK_MS;
  }

  /** @throws when the database does not answer; then the looks before it no longer count */
  async look(): Promise<Look> {
    // First, or a worker that starts in between would be missed before it was there.
    await this.#readClaims();
    const askedAt = performance.now();
    const isConsecutive = askedAt - this.#answeredAt <= LONGEST_GAP_MS;
    const absentBefore = isConsecutive ? this.#absent : new Map<number, Absence>();
    this.#absent = new Map();
    const { held: locked, silent } = await leaseLocks(this.#db);
    const answeredAt = performance.now();
    this.#answeredAt = answeredAt;
    if (!locked.has(this.#self)) {
      this.#countsFrom = answeredAt + RECOVERY_MS;
      return { seen: false, dead: [] };
    }
    for (const id of locked) this.#known.add(id);
    for (const id of this.#known) {
      if (locked.has(id) || answeredAt < this.#countsFrom) continue;
      const before = absentBefore.get(id) ?? { since: answeredAt, looks: 0 };
      this.#absent.set(id, { since: before.since, looks: before.looks + 1 });
    }
    if (answeredAt < this.#countsFrom) return { seen: true, dead: [] };
    return { seen: true, dead: [...new Set([...silent, ...this.#absentTooLong(askedAt)])] };
  }

  /** Nothing of it is left to take back. */
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

  #absentTooLong(askedAt: number): number[] {
    const isDead = ({ since, looks }: Absence) => looks >= LEAST_LOOKS && askedAt - since >= this.#deadAfterMs;
    return [...this.#absent].flatMap(([id, absence]) => (isDead(absence) ? [id] : []));
  }
}
