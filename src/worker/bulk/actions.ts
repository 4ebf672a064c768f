import { accountOfBulkAction, type BulkActionRef, idleBulkActions, keepBulkActions } from '../../db/bulk/actions.ts';
import { isUnavailable, JobferryError } from '../../domain/errors.ts';
import type { Logger } from '../../log.ts';
import { type BulkContext, failBulkAction, runBulkAction } from './run.ts';

/** Batches at once, each of another account: so many connections of the pool. */
const AT_ONCE = 2;
/** After a step that failed. */
const RETRY_MS = 1000;
/** An action that no process has kept for so long is taken by another. */
const IDLE_MS = 5000;
/** Of a whole batch: less than a row would take long to grow again, and below some limit for ever. */
const MIN_SHARE = 1 / 500;
const INTERNAL_ERROR = 'internal error: the log of the service has the details';

interface KnownAction {
  accountId: string;
  /** Of a whole batch; halved when one fails for its time, and a fifth more after each that is done. */
  share: number;
}

/**
 * Works on bulk actions, one batch at a time. Accounts take turns, and within an account its actions do; of an account
 * one batch runs at once. An action is worked on where its wake-up was taken, and kept by that process while it waits for
 * its turn; when the process is gone, the reconciler of another finds that nobody keeps the action. Should two be at it,
 * the database lets one of them do each batch, and the other one leaves.
 */
export class BulkActions {
  readonly #context: BulkContext;
  readonly #log: Logger;
  /** In line, under way, or waiting for a timer. */
  readonly #known = new Map<string, KnownAction>();
  /** Ids in line by account; the first account that has no batch under way is next. */
  readonly #lines = new Map<string, string[]>();
  readonly #busyAccounts = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(context: BulkContext, log: Logger) {
    this.#context = context;
    this.#log = log;
  }

  /** Begins, or goes on with, an action; one that is worked on here already needs no reminder. */
  async run(actionId: string): Promise<void> {
    if (this.#stopped || this.#known.has(actionId)) return;
    const accountId = await accountOfBulkAction(this.#context.db, actionId);
    if (accountId !== null) this.#take({ id: actionId, accountId });
  }

  /** Goes on with actions of processes that are gone. */
  async takeIdle(): Promise<void> {
    for (const action of await idleBulkActions(this.#context.db, IDLE_MS)) this.#take(action);
  }

  /** To be called more often than actions count as idle. */
  async keep(): Promise<void> {
    if (this.#known.size > 0) await keepBulkActions(this.#context.db, [...this.#known.keys()]);
  }

  /** Resolves when the batches under way are done. Another process goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  #take({ id, accountId }: BulkActionRef): void {
    if (this.#stopped || this.#known.has(id)) return;
    this.#known.set(id, { accountId, share: 1 });
    this.#log.info({ actionId: id }, 'bulk action taken');
    this.#enqueue(id);
  }

  #enqueue(actionId: string): void {
    const action = this.#known.get(actionId);
    if (action === undefined) return;
    const line = this.#lines.get(action.accountId) ?? [];
    line.push(actionId);
    this.#lines.set(action.accountId, line);
    this.#startNext();
  }

  #startNext(): void {
    for (const [accountId, line] of this.#lines) {
      if (this.#stopped || this.#running.size >= AT_ONCE) return;
      if (this.#busyAccounts.has(accountId)) continue;
      const actionId = line.shift();
      // To the end, behind the other accounts.
      this.#lines.delete(accountId);
      if (line.length > 0) this.#lines.set(accountId, line);
      const action = actionId === undefined ? undefined : this.#known.get(actionId);
      if (actionId !== undefined && action !== undefined) this.#start(actionId, action);
    }
  }

  #start(actionId: string, action: KnownAction): void {
    this.#busyAccounts.add(action.accountId);
    const running = this.#step(actionId, action).then((nextMs) => {
      this.#busyAccounts.delete(action.accountId);
      this.#running.delete(running);
      if (nextMs === null) this.#leave(actionId);
      else if (nextMs <= 0) this.#enqueue(actionId);
      else this.#later(actionId, nextMs);
      this.#startNext();
    });
    this.#running.add(running);
  }

  /** It has ended, or another process has gone on with it. */
  #leave(actionId: string): void {
    this.#known.delete(actionId);
    this.#log.info({ actionId }, 'bulk action left');
  }

  #later(actionId: string, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#enqueue(actionId);
    }, Math.ceil(ms));
    this.#timers.add(timer);
  }

  async #step(actionId: string, action: KnownAction): Promise<number | null> {
    try {
      const nextMs = await runBulkAction(this.#context, actionId, action.share);
      action.share = Math.min(action.share * 1.2, 1);
      return nextMs;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#log.warn({ err: error, actionId }, 'a batch of a bulk action failed, and is tried again');
        // It may have been too large to end in time.
        action.share = Math.max(action.share / 2, MIN_SHARE);
        return RETRY_MS;
      }
      this.#log.error({ err: error, actionId }, 'a bulk action cannot go on');
      // A refusal says why; anything else is a fault of ours.
      return this.#giveUp(actionId, error instanceof JobferryError ? error.message : INTERNAL_ERROR);
    }
  }

  async #giveUp(actionId: string, error: string): Promise<number | null> {
    try {
      await failBulkAction(this.#context, actionId, error);
      return null;
    } catch (another) {
      this.#log.warn({ err: another, actionId }, 'a bulk action could not be ended, and is tried again');
      return RETRY_MS;
    }
  }
}
