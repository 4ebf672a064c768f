import { accountOfBulkAction, type BulkActionRef, idleBulkActions, keepBulkActions } from '../../db/bulk/actions.ts';
import { isUnavailable, JobferryError } from '../../domain/errors.ts';
import type { Logger } from '../../log.ts';
import { type BulkContext, failBulkAction, runBulkAction } from './run.ts';

/** Batches that run at once, each for another account. Each uses one connection of the pool. */
const AT_ONCE = 2;
/** Delay after a failed step. */
const RETRY_MS = 1000;
/** If no process has kept an action for this long, another process takes it. */
const IDLE_MS = 5000;
/** Lower limit of a share, about one job. A smaller share would take long to grow again. */
const MIN_SHARE = 1 / 500;
const INTERNAL_ERROR = 'internal error: the log of the service has the details';

interface KnownAction {
  accountId: string;
  /** Share of a whole batch. It is halved when the database fails, and grows by a fifth after each successful batch. */
  share: number;
}

/**
 * Runs bulk actions batch by batch. Accounts take turns, and so do the actions of an account. One batch per account runs
 * at a time. The process that receives the wake-up of an action runs it, and regularly marks it as kept. If that process
 * dies, the mark becomes old, and the reconciler of another process takes the action. If two processes run the same
 * action, the database lets only one of them commit each batch, and the other process leaves the action.
 */
export class BulkActions {
  readonly #context: BulkContext;
  readonly #log: Logger;
  /** Actions that wait for their turn, run, or wait for a timer. */
  readonly #known = new Map<string, KnownAction>();
  /** Ids that wait for their turn, by account. The first account without a running batch is next. */
  readonly #waiting = new Map<string, string[]>();
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
    this.#known.set(id, { accountId, share: 1 });
    this.#log.info({ actionId: id }, 'bulk action taken');
    this.#enqueue(id);
  }

  #enqueue(actionId: string): void {
    const action = this.#known.get(actionId);
    if (action === undefined) return;
    const waiting = this.#waiting.get(action.accountId) ?? [];
    waiting.push(actionId);
    this.#waiting.set(action.accountId, waiting);
    this.#startNext();
  }

  #startNext(): void {
    for (const [accountId, waiting] of this.#waiting) {
      if (this.#stopped || this.#running.size >= AT_ONCE) return;
      if (this.#busyAccounts.has(accountId)) continue;
      const actionId = waiting.shift();
      // The account goes behind the others.
      this.#waiting.delete(accountId);
      if (waiting.length > 0) this.#waiting.set(accountId, waiting);
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

  /** The action has ended, or another process runs it. */
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
        this.#log.warn({ err: error, actionId }, 'a batch of a bulk action failed and will be retried');
        // The batch may have been too large to end within the time limit.
        action.share = Math.max(action.share / 2, MIN_SHARE);
        return RETRY_MS;
      }
      this.#log.error({ err: error, actionId }, 'a bulk action failed');
      // The message of a JobferryError is for users. Any other error is a bug in Jobferry.
      return this.#giveUp(actionId, error instanceof JobferryError ? error.message : INTERNAL_ERROR);
    }
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
