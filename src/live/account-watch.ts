import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { type AccountMarks, accountMarks, type WatchedList } from '../db/insight/account-marks.ts';

/** A change in the lists of an account. */
export interface AccountChange {
  /** Queues with new dead letters. */
  deadLettersOf: readonly string[];
  auditLog: boolean;
  instances: boolean;
}

interface WatchedAccount {
  /** Number of subscribers by list. */
  watchers: Map<WatchedList, number>;
  marks: AccountMarks;
}

interface AccountWatchOptions {
  db: Database;
  log: DatabaseLog;
  /** Time from the end of one round to the start of the next, in milliseconds. */
  everyMs: number;
  onChange: (accountId: string, change: AccountChange) => void;
}

const NO_MARKS: AccountMarks = { deadLetters: null, auditLog: null, instances: null };

/**
 * Watches lists that no process announces changes of: dead letters, the audit log and the processes. While an account
 * has subscribers to one of them, its newest rows are read every two seconds, in one statement however many subscribers
 * there are. Accounts are read one after the other, so all of them together use at most one connection.
 */
export class AccountWatch {
  readonly #options: AccountWatchOptions;
  readonly #accounts = new Map<string, WatchedAccount>();
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(options: AccountWatchOptions) {
    this.#options = options;
  }

  add(accountId: string, lists: readonly WatchedList[]): void {
    if (lists.length === 0 || this.#stopped) return;
    const account = this.#accounts.get(accountId) ?? { watchers: new Map<WatchedList, number>(), marks: NO_MARKS };
    this.#accounts.set(accountId, account);
    for (const list of lists) account.watchers.set(list, (account.watchers.get(list) ?? 0) + 1);
    // The first marks of a list cause no change, so they are read at once.
    this.#start(0);
  }

  remove(accountId: string, lists: readonly WatchedList[]): void {
    const account = this.#accounts.get(accountId);
    if (account === undefined) return;
    for (const list of lists) {
      const left = (account.watchers.get(list) ?? 1) - 1;
      if (left > 0) account.watchers.set(list, left);
      else account.watchers.delete(list);
    }
    if (account.watchers.size === 0) this.#accounts.delete(accountId);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round;
  }

  #start(inMs: number): void {
    if (this.#round !== null || this.#stopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#round = this.#runRound().then(() => {
        this.#round = null;
        if (this.#accounts.size > 0) this.#start(this.#options.everyMs);
      });
    }, inMs).unref();
  }

  async #runRound(): Promise<void> {
    for (const [accountId, account] of [...this.#accounts]) {
      if (this.#stopped) return;
      try {
        const marks = await accountMarks(this.#options.db, accountId, new Set(account.watchers.keys()));
        const change = changeBetween(account.marks, marks);
        account.marks = marks;
        if (change !== null) this.#options.onChange(accountId, change);
      } catch (error) {
        // The marks stay, so what changes meanwhile is found by a later round.
        this.#options.log.warn({ err: error }, 'live updates: reading the newest rows of an account failed');
      }
    }
  }
}

/** Null if nothing has changed. A list that was not read before has not changed. */
function changeBetween(before: AccountMarks, now: AccountMarks): AccountChange | null {
  const isNew = (list: 'auditLog' | 'instances') => before[list] !== null && now[list] !== before[list];
  const known = before.deadLetters;
  const change = {
    deadLettersOf:
      known === null
        ? []
        : Object.entries(now.deadLetters ?? {}).flatMap(([id, ids]) => (known[id] === ids ? [] : [id])),
    auditLog: isNew('auditLog') && now.auditLog !== null,
    instances: isNew('instances') && now.instances !== null,
  };
  return change.deadLettersOf.length > 0 || change.auditLog || change.instances ? change : null;
}
