import { Tally } from './tally.ts';

/** Stands for the accounts that are not counted one by one. */
export const OTHER_ACCOUNTS = 'other';
/** Stands for requests without a valid key or session. */
export const NO_ACCOUNT = 'none';

/** Accounts that are counted one by one until the next `take`. */
const MAX_ACCOUNTS = 10_000;

/**
 * Counts requests by account and status code since the last `take`. Which accounts are the busiest is known only while
 * a page is made, so requests are kept by account until then.
 */
export class AccountCounts {
  #accounts = new Map<string, Tally>();

  /** @param accountId null without a valid key or session */
  add(accountId: string | null, code: string): void {
    let account = accountId ?? NO_ACCOUNT;
    let counts = this.#accounts.get(account);
    if (counts === undefined) {
      if (this.#accounts.size >= MAX_ACCOUNTS) account = OTHER_ACCOUNTS;
      counts = this.#accounts.get(account) ?? new Tally();
      this.#accounts.set(account, counts);
    }
    counts.add(code);
  }

  /** Returns the counts by account. They start again at 0. */
  take(): Map<string, Tally> {
    const accounts = this.#accounts;
    this.#accounts = new Map();
    return accounts;
  }
}
