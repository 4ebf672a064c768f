/** What one round of the event loop starts at most; the first is always started. */
interface Pace {
  items: number;
  ms: number;
}

/**
 * Starts work a few at a time, of accounts in turn; others are served in between. What was read or claimed together would
 * otherwise keep publishes, answers of webhooks and of the database waiting until all of it is started.
 */
export class Starts {
  readonly #pace: Pace;
  /** In the order in which the accounts are served. */
  readonly #lines = new Map<string, (() => void)[]>();
  #scheduled = false;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

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
    const endsAt = performance.now() + this.#pace.ms;
    for (let n = 0; n < this.#pace.items && this.#lines.size > 0 && performance.now() < endsAt; n += 1)
      this.#startNext();
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
