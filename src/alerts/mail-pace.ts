/** Recipients that an account can reach at once, after it sent nothing for a while. */
const BURST = 60;
/** Time after which an account can reach one more. */
const REFILL_MS = 20_000;
/** Accounts above which those that have sent nothing for a while are forgotten. */
const MANY = 1000;

/**
 * How much mail each account may send: alerts are for people, and an account must not use the service to fill the
 * mailboxes of others. It is kept by the process that has the turn, and the next one knows nothing of it.
 */
export class MailPace {
  /** Time at which an account could send a whole burst again. */
  readonly #fullAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a mail, if it may be sent now. @returns the wait until it may be sent; 0 if it may be sent now */
  take(accountId: string, recipients: number): number {
    const now = this.#now();
    const fullAt = Math.max(this.#fullAt.get(accountId) ?? 0, now) + recipients * REFILL_MS;
    const waitMs = fullAt - now - BURST * REFILL_MS;
    if (waitMs > 0) return waitMs;
    if (this.#fullAt.size >= MANY) this.#forget(now);
    this.#fullAt.set(accountId, fullAt);
    return 0;
  }

  #forget(now: number): void {
    for (const [accountId, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(accountId);
  }
}
