import type { Database } from '../../db/connection/database.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Logger } from '../../log.ts';
import { expireDeadlines } from './recover.ts';

/** A deadline further away has a durable wake-up, which fires up to 5 s early (`jobferry_wake`). */
const OWN_TIMER_MS = 6000;

/** Expires leases and ack deadlines when they are due, with one timer per queue. */
export class Deadlines {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #wake: (queueId: string) => void;
  readonly #changes: ChangeFeed;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #stopped = false;

  constructor(db: Database, log: Logger, wake: (queueId: string) => void, changes: ChangeFeed) {
    this.#db = db;
    this.#log = log;
    this.#wake = wake;
    this.#changes = changes;
  }

  /** Expires the queue's passed deadlines, and sets a timer if the next one is near. */
  async check(queueId: string): Promise<void> {
    clearTimeout(this.#timers.get(queueId));
    this.#timers.delete(queueId);
    if (this.#stopped) return;
    try {
      const { queues, nextMs } = await expireDeadlines(this.#db, queueId, this.#changes);
      for (const id of queues) this.#wake(id);
      if (nextMs === null || nextMs > OWN_TIMER_MS || this.#stopped) return;
      clearTimeout(this.#timers.get(queueId));
      const timer = setTimeout(() => void this.check(queueId), Math.max(1, Math.ceil(nextMs)));
      this.#timers.set(queueId, timer);
    } catch (error) {
      this.#log.warn({ err: error, queueId }, 'deadlines of a queue could not be expired; this will be retried');
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}
