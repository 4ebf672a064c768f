import { JobferryError } from '../domain/errors.ts';
import type { Logger } from '../log.ts';
import { type BulkContext, failBulkAction, runBulkAction } from '../services/run-bulk-action.ts';

/** After a step that failed. */
const RETRY_MS = 1000;
const INTERNAL_ERROR = 'internal error: the log of the service has the details';

/**
 * Works on bulk actions, one batch after another over all of them, so that they take turns and never
 * need more than one connection of the pool. An action is worked on where its wake-up was taken; when
 * that process is gone, the reconciler of another finds that nobody has looked at the action for a while.
 * Should two be at it, the database lets one of them do each batch, and the other one leaves.
 */
export class BulkActions {
  readonly #context: BulkContext;
  readonly #log: Logger;
  /** In line, under way, or waiting for a timer. */
  readonly #known = new Set<string>();
  readonly #line: string[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #working: Promise<void> | null = null;
  #stopped = false;

  constructor(context: BulkContext, log: Logger) {
    this.#context = context;
    this.#log = log;
  }

  /** Begins, or goes on with, an action; one that is worked on here already needs no reminder. */
  run(actionId: string): void {
    if (this.#stopped || this.#known.has(actionId)) return;
    this.#known.add(actionId);
    this.#log.info({ actionId }, 'bulk action taken');
    this.#enqueue(actionId);
  }

  /** Resolves when the batch under way is done. Another process goes on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#working;
  }

  #enqueue(actionId: string): void {
    this.#line.push(actionId);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    for (let id = this.#line.shift(); id !== undefined && !this.#stopped; id = this.#line.shift()) {
      const nextMs = await this.#step(id);
      if (nextMs === null) this.#leave(id);
      else if (nextMs <= 0) this.#line.push(id);
      else this.#later(id, nextMs);
    }
    // In the turn that found the line empty: what is put into it later has to start again.
    this.#working = null;
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

  async #step(actionId: string): Promise<number | null> {
    try {
      return await runBulkAction(this.#context, actionId);
    } catch (error) {
      if (error instanceof JobferryError && error.kind === 'unavailable') {
        this.#log.warn({ err: error, actionId }, 'a batch of a bulk action failed, and is tried again');
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
