import type { LookupAddress } from 'node:dns';
import { allowance } from '../domain/fair-share.ts';
import { decideAfter } from '../pacing/decide-after.ts';

/** `dns.lookup` as the address guard calls it, so that tests can replace it. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type LookupCallback = Parameters<Lookup>[2];

/** Code of the error if no name server works, whatever the name. */
export const NO_NAME_SERVER = 'ENONAMESERVER';

const MESSAGES = {
  ENOTFOUND: 'name not found',
  EAI_AGAIN: 'name servers do not answer for this name',
  [NO_NAME_SERVER]: 'no name server works',
} as const;

/**
 * `ENOTFOUND`: the name does not exist or has no address. `EAI_AGAIN`:
 * the name servers fail for this name, or it waited too long.
 */
export class NameLookupError extends Error {
  override readonly name = 'NameLookupError';
  readonly code: keyof typeof MESSAGES;

  constructor(code: keyof typeof MESSAGES) {
    super(MESSAGES[code]);
    this.code = code;
  }
}

/** Concurrent look-ups in a process. */
const MAX_LOOKUPS = 256;
/** One account's part of them (`allowance`): a fifth if no other account has look-ups. */
const ACCOUNT_APPETITE = 0.25;
/** A look-up that has not begun after this has failed. */
const MAX_WAIT_MS = 3000;
/** How long failures are cached, so that retries of a failing name do not occupy look-ups. */
const NOT_FOUND_MS = 5000;
const NO_ANSWER_MS = 2000;
/** Number of cached failures. */
const MAX_FAILED = 10_000;

/** A name whose look-up is running or waiting. */
interface NameQuery {
  hostname: string;
  callbacks: LookupCallback[];
  /** Accounts that requested the name while its look-up was waiting. */
  accounts: Set<string>;
  /** Withdraws the limit of the wait; null once the look-up runs. */
  withdrawLimit: (() => void) | null;
}

/**
 * Concurrent look-ups of the same name share one query, and accounts share the look-ups of the process: each account
 * waits only for its own ones. Addresses are not cached, because every connect must check a current answer (S56).
 * Failures are cached for some seconds.
 * @param account returns the account that looks the name up; called when the look-up is requested
 */
export function shareLookups(lookup: Lookup, account: () => string = () => ''): Lookup {
  const lookups = new SharedLookups(lookup);
  return (hostname, _options, callback) => lookups.request(hostname, account(), callback);
}

class SharedLookups {
  readonly #lookup: Lookup;
  readonly #queries = new Map<string, NameQuery>();
  /**
   * Waiting look-ups by account, in the order of the accounts' turns.
   * A look-up that several accounts requested is in each set.
   */
  readonly #waiting = new Map<string, Set<NameQuery>>();
  /** Number of running look-ups by account. */
  readonly #used = new Map<string, number>();
  readonly #failed = new Map<string, { error: NodeJS.ErrnoException; until: number }>();
  #free = MAX_LOOKUPS;

  constructor(lookup: Lookup) {
    this.#lookup = lookup;
  }

  request(hostname: string, account: string, callback: LookupCallback): void {
    const failed = this.#failed.get(hostname);
    if (failed !== undefined && failed.until > performance.now()) {
      process.nextTick(callback, failed.error, []);
      return;
    }
    let query = this.#queries.get(hostname);
    if (query === undefined) {
      query = { hostname, callbacks: [], accounts: new Set(), withdrawLimit: null };
      query.withdrawLimit = decideAfter(MAX_WAIT_MS, () => this.#giveUp(hostname));
      this.#queries.set(hostname, query);
    }
    query.callbacks.push(callback);
    if (query.withdrawLimit === null || query.accounts.has(account)) return;
    query.accounts.add(account);
    const waiting = this.#waiting.get(account);
    if (waiting === undefined) this.#waiting.set(account, new Set([query]));
    else waiting.add(query);
    this.#startNext();
  }

  #startNext(): void {
    for (let hasStarted = true; hasStarted && this.#free > 0; ) {
      hasStarted = false;
      for (const [account, waiting] of [...this.#waiting]) {
        const [query] = waiting;
        if (query === undefined || !this.#mayStart(account)) continue;
        this.#start(query, account);
        hasStarted = true;
      }
    }
  }

  #mayStart(account: string): boolean {
    if (this.#free < 1) return false;
    const used = this.#used.get(account) ?? 0;
    return used === 0 || allowance(this.#free, used, ACCOUNT_APPETITE) >= 1;
  }

  #start(query: NameQuery, account: string): void {
    this.#stopWaiting(query);
    this.#free -= 1;
    this.#used.set(account, (this.#used.get(account) ?? 0) + 1);
    this.#lookup(query.hostname, { all: true }, (error, addresses) => {
      this.#free += 1;
      const used = (this.#used.get(account) ?? 1) - 1;
      if (used === 0) this.#used.delete(account);
      else this.#used.set(account, used);
      if (error !== null) this.#remember(query.hostname, error);
      this.#finish(query, error, addresses);
      this.#startNext();
    });
  }

  #giveUp(hostname: string): void {
    const query = this.#queries.get(hostname) as NameQuery;
    this.#stopWaiting(query);
    this.#finish(query, new NameLookupError('EAI_AGAIN'), []);
  }

  #stopWaiting(query: NameQuery): void {
    query.withdrawLimit?.();
    query.withdrawLimit = null;
    for (const account of query.accounts) {
      const waiting = this.#waiting.get(account);
      waiting?.delete(query);
      if (waiting?.size === 0) this.#waiting.delete(account);
    }
  }

  #finish(query: NameQuery, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    this.#queries.delete(query.hostname);
    for (const callback of query.callbacks) callback(error, addresses);
  }

  #remember(hostname: string, error: NodeJS.ErrnoException): void {
    // Deleted first, so that the new entry becomes the last one.
    this.#failed.delete(hostname);
    if (this.#failed.size >= MAX_FAILED) this.#failed.delete(this.#failed.keys().next().value as string);
    const until = performance.now() + (error.code === 'ENOTFOUND' ? NOT_FOUND_MS : NO_ANSWER_MS);
    this.#failed.set(hostname, { error, until });
  }
}
