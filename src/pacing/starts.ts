import { arrivals } from './arrivals.ts';

/** The most that one turn of the event loop starts; the first item is always started, unless connections go first. */
interface Pace {
  items: number;
  ms: number;
}

/**
 * Starts work a few items at a time, from the accounts in turn. In between, the event loop does other work. Otherwise
 * publishes, answers of webhooks and results of the database would wait until all work that was read or claimed
 * together is started.
 */
export class Starts {
  readonly #pace: Pace;
  /** Waiting work by account, in the order in which the accounts are served. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #scheduled = false;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Calls `start` soon, after everything that the account has added before. */
  add(accountId: string, start: () => void): void {
    const own = this.#waiting.get(accountId);
    if (own === undefined) this.#waiting.set(accountId, [start]);
    else own.push(start);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After this turn, so that all accounts of a claim have been added.
    queueMicrotask(() => this.#round());
  }

  #round(): void {
    const endsAt = performance.now() + this.#pace.ms;
    const items = arrivals.goFirst ? 0 : this.#pace.items;
    for (let n = 0; n < items && this.#waiting.size > 0 && performance.now() < endsAt; n += 1) this.#startNext();
    this.#scheduled = this.#waiting.size > 0;
    if (this.#scheduled) setImmediate(() => this.#round());
  }

  #startNext(): void {
    for (const [accountId, own] of this.#waiting) {
      const start = own.shift();
      // The account moves to the end, unless it is the only one.
      if (own.length === 0) this.#waiting.delete(accountId);
      else if (this.#waiting.size > 1 && this.#waiting.delete(accountId)) this.#waiting.set(accountId, own);
      start?.();
      return;
    }
  }
}
