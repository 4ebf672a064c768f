import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { notifyWorkers, type WakeReason } from '../db/delivery/wake-ups.ts';
import { Rounds } from '../pacing/rounds.ts';

/** Limit of queues that wait to be sent. Beyond it, the reconciler finds the work. */
const MAX_WAITING = 10_000;

/**
 * Notifies the workers of other processes of queues that may have work. It does so after the commit and in a
 * transaction of its own: a NOTIFY locks the server's queue of notifications until its transaction ends. Queues that
 * are added while a message is being sent go with the next one. A message that cannot be sent is dropped: the
 * reconciler finds the work within 5 s.
 */
export class WakeNotifier {
  readonly #db: Database;
  readonly #log: DatabaseLog;
  readonly #rounds = new Rounds(
    () => this.#waiting.size > 0,
    () => this.#send(),
  );
  #waiting = new Map<string, WakeReason>();

  constructor(db: Database, log: DatabaseLog) {
    this.#db = db;
    this.#log = log;
  }

  add(queueId: string, reason: WakeReason): void {
    if (this.#waiting.size >= MAX_WAITING) return;
    if (reason === 'change' || !this.#waiting.has(queueId)) this.#waiting.set(queueId, reason);
    this.#rounds.begin();
  }

  /** Resolves when everything is sent, or was dropped. */
  idle(): Promise<void> {
    return this.#rounds.idle();
  }

  async #send(): Promise<void> {
    const queues = this.#waiting;
    this.#waiting = new Map();
    await notifyWorkers(this.#db, queues).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'workers could not be notified of queues with work, and find it a little later');
    });
  }
}
