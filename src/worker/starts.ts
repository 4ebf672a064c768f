/**
 * What one round of the event loop starts. A delivery takes a few tenths of a millisecond to begin, so a claim of 320
 * would keep publishes, other claims and answers of webhooks waiting for a tenth of a second.
 */
const PER_ROUND = 16;
const MS_PER_ROUND = 5;

/** Starts deliveries a few at a time, of accounts in turn; others are served in between. */
export class Starts {
  /** In the order in which the accounts are served. */
  readonly #lines = new Map<string, (() => void)[]>();
  #scheduled = false;

  /** Calls `start` soon, and after all that the account has added before. */
  add(accountId: string, start: () => void): void {
    const line = this.#lines.get(accountId);
    if (line === undefined) this.#lines.set(accountId, [start]);
    else line.push(start);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After this turn, so that all accounts of a claim are there.
    queueMicrotask(() => this.#round());
  }

  #round(): void {
    const endsAt = performance.now() + MS_PER_ROUND;
    for (let n = 0; n < PER_ROUND && this.#lines.size > 0 && performance.now() < endsAt; n += 1) this.#startNext();
    this.#scheduled = this.#lines.size > 0;
    if (this.#scheduled) setImmediate(() => this.#round());
  }

  #startNext(): void {
    for (const [accountId, line] of this.#lines) {
      const start = line.shift();
      // To the end, unless it is the only one.
      if (line.length === 0) this.#lines.delete(accountId);
      else if (this.#lines.size > 1 && this.#lines.delete(accountId)) this.#lines.set(accountId, line);
      start?.();
      return;
    }
  }
}
