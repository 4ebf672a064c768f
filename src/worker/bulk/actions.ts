import { accountOfBulkAction, type BulkActionRef, idleBulkActions, keepBulkActions } from '../../db/bulk/actions.ts';
import { SearchTooSlow } from '../../db/search/budget.ts';
import { afterSlowSearch } from '../../domain/bulk.ts';
import { isUnavailable, JobferryError } from '../../domain/errors.ts';
import { ReadyList } from '../../pacing/ready-list.ts';
import type { Logger } from '../../telemetry/log.ts';
import { type BulkContext, failBulkAction, noteBulkStep, runBulkAction } from './run.ts';

/** Batches that run at once, each for another account. Each uses one connection of the pool. */
const AT_ONCE = 2;
/** Delay after a failed step. */
const RETRY_MS = 1000;
/** If no process has kept an action for this long, another process takes it. */
const IDLE_MS = 5000;
/** Lower limit of a share, about one job. A smaller share would take long to grow again. */
const MIN_SHARE = 1 / 500;
const INTERNAL_ERROR = 'internal error: the log of the service has the details';

interface KnownAction extends BulkActionRef {
  /** Share of a whole batch. It is halved when the database fails, and grows by a fifth after each successful batch. */
  share: number;
  /**
   * Number of searches in a row that took too long; null until a step has worked, because the process that ran the
   * action before may have stored a note about such a search.
   */
  slow: number | null;
}

/**
 * Runs bulk actions batch by batch. Accounts take turns, and so do the actions of an account. One batch per account
 * runs at a time. The process that receives the wake-up of an action runs it, and regularly marks it as kept. If that
 * process dies, the mark becomes old, and the reconciler of another process takes the action. If two processes run the
 * same action, the database lets only one of them commit each batch, and the other process leaves the action.
 */
export class BulkActions {
  readonly #context: BulkContext;
  readonly #log: Logger;
  /** Actions that wait for their turn, run, or wait for a timer. */
  readonly #known = new Map<string, KnownAction>();
  /** Actions that wait for their turn. The first account without a running batch is next. */
  readonly #waiting = new ReadyList<KnownAction>();
  readonly #busyAccounts = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(context: BulkContext, log: Logger) {
    this.#context = context;
    this.#log = log;
  }

  /** Starts or continues an action. Does nothing if this process runs it already. */
  async run(actionId: string): Promise<void> {
    if (this.#stopped || this.#known.has(actionId)) return;
    const accountId = await accountOfBulkAction(this.#context.db, actionId);
    if (accountId !== null) this.#take({ id: actionId, accountId });
  }

  /** Continues the actions of dead processes. */
  async takeIdle(): Promise<void> {
    for (const action of await idleBulkActions(this.#context.db, IDLE_MS)) this.#take(action);
  }

  /** Marks this process's actions as kept. Call it well within the time after which an action counts as idle. */
  async keep(): Promise<void> {
    if (this.#known.size > 0) await keepBulkActions(this.#context.db, [...this.#known.keys()]);
  }

  /** Resolves when the running batches have ended. Another process continues the actions. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  #take({ id, accountId }: BulkActionRef): void {
    if (this.#stopped || this.#known.has(id)) return;
    const action = { id, accountId, share: 1, slow: null };
    this.#known.set(id, action);
    this.#log.info({ actionId: id }, 'bulk action taken');
    this.#enqueue(action);
  }

  #enqueue(action: KnownAction): void {
    this.#waiting.add(action);
    this.#startNext();
  }

  #startNext(): void {
    if (this.#stopped) return;
    const isIdle = (accountId: string) => !this.#busyAccounts.has(accountId);
    const begin = ({ accountId }: KnownAction) => {
      this.#busyAccounts.add(accountId);
      return true;
    };
    for (const action of this.#waiting.take(AT_ONCE - this.#running.size, isIdle, begin)) this.#start(action);
  }

  #start(action: KnownAction): void {
    const running = this.#step(action).then((nextMs) => {
      this.#busyAccounts.delete(action.accountId);
      this.#running.delete(running);
      if (nextMs === null) this.#leave(action);
      else if (nextMs <= 0) this.#enqueue(action);
      else this.#later(action, nextMs);
      this.#startNext();
    });
    this.#running.add(running);
  }

  /** The action has ended, or another process runs it. */
  #leave({ id }: KnownAction): void {
    this.#known.delete(id);
    this.#log.info({ actionId: id }, 'bulk action left');
  }

  #later(action: KnownAction, ms: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#enqueue(action);
    }, Math.ceil(ms));
    this.#timers.add(timer);
  }

  async #step(action: KnownAction): Promise<number | null> {
    const { id: actionId } = action;
    try {
      const nextMs = await runBulkAction(this.#context, actionId, action.share);
      if (action.slow !== 0) await noteBulkStep(this.#context, action, null);
      action.slow = 0;
      action.share = Math.min(action.share * 1.2, 1);
      return nextMs;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#log.warn({ err: error, actionId }, 'a batch of a bulk action failed and will be retried');
        return this.#smaller(action, RETRY_MS);
      }
      if (error instanceof SearchTooSlow) return this.#afterSlowSearch(action);
      this.#log.error({ err: error, actionId }, 'a bulk action failed');
      // The message of a JobferryError is for users. Any other error is a bug in Jobferry.
      return this.#giveUp(actionId, error instanceof JobferryError ? error.message : INTERNAL_ERROR);
    }
  }

  /** The batch may have been too large to end within the time limit. @returns the wait before it */
  #smaller(action: KnownAction, waitMs: number): number {
    action.share = Math.max(action.share / 2, MIN_SHARE);
    return waitMs;
  }

  async #afterSlowSearch(action: KnownAction): Promise<number | null> {
    const { id: actionId } = action;
    const slow = (action.slow ?? 0) + 1;
    const next = afterSlowSearch(slow);
    if ('failed' in next) {
      this.#log.error({ actionId, slow }, 'a bulk action failed: its searches take too long');
      return this.#giveUp(actionId, next.failed);
    }
    action.slow = slow;
    this.#log.warn({ actionId, slow }, 'a search of a bulk action took too long and will be repeated');
    // Without the note the action waits all the same.
    await noteBulkStep(this.#context, action, next.note).catch(() => undefined);
    return this.#smaller(action, next.waitMs);
  }

  async #giveUp(actionId: string, error: string): Promise<number | null> {
    try {
      await failBulkAction(this.#context, actionId, error);
      return null;
    } catch (another) {
      this.#log.warn({ err: another, actionId }, 'a failed bulk action could not be ended; this will be retried');
      return RETRY_MS;
    }
  }
}
