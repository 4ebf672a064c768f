import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { type CallReason, callWorkers } from '../db/delivery/wake-ups.ts';

/** Beyond it workers find the rest by the durable wake-ups. */
const MAX_WAITING = 10_000;

/**
 * Tells the workers of other processes at once which queues have something new, after the commit and outside of its
 * transaction: every NOTIFY holds a lock of the whole server until its transaction has ended. What arrives while a
 * message is under way rides the next. What cannot be sent is forgotten: the durable wake-ups come some seconds later.
 */
export class WorkerCalls {
  readonly #db: Database;
  readonly #log: DatabaseLog;
  #waiting = new Map<string, CallReason>();
  #running: Promise<void> | null = null;

  constructor(db: Database, log: DatabaseLog) {
    this.#db = db;
    this.#log = log;
  }

  call(queueId: string, reason: CallReason): void {
    if (this.#waiting.size >= MAX_WAITING) return;
    if (reason === 'change' || !this.#waiting.has(queueId)) this.#waiting.set(queueId, reason);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is left to say. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // A turn later: jobs that were committed together are told together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.size > 0) {
      const queues = this.#waiting;
      this.#waiting = new Map();
      await callWorkers(this.#db, queues).catch((error: unknown) => {
        this.#log.warn({ err: error }, 'workers could not be called, and find the work a little later');
      });
    }
    // At once, and not when the promise has ended: a call in between would wait for the next one.
    this.#running = null;
  }
}
