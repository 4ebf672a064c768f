/** A quicker evaluation is followed by no cooldown. */
const QUICK_MS = 250;
/** Length of a cooldown, as a multiple of the evaluation before it. */
const FACTOR = 20;
/** Longest cooldown: 20 times five statements of 1 s. Longer evaluations were waiting for a connection. */
const LONGEST_MS = 100_000;

/**
 * Accounts whose rules are not evaluated for a while, because that took long: one account has at most a twentieth of
 * the time, so that its rules do not delay the alerts of others.
 */
export class Cooldowns {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  isCoolingDown(accountId: string): boolean {
    const until = this.#until.get(accountId);
    if (until === undefined) return false;
    if (this.#now() < until) return true;
    this.#until.delete(accountId);
    return false;
  }

  /** Runs an evaluation of the account, and begins a cooldown of the account if it took long. */
  async after<T>(accountId: string, evaluation: () => Promise<T>): Promise<T> {
    const startedAt = this.#now();
    try {
      return await evaluation();
    } finally {
      const took = this.#now() - startedAt;
      if (took > QUICK_MS) this.#until.set(accountId, this.#now() + Math.min(took * FACTOR, LONGEST_MS));
    }
  }
}
