import type { Database } from '../../db/connection/database.ts';
import type { ChangeFeed } from '../../live/live.ts';
import { decideAfter } from '../../pacing/decide-after.ts';
import type { Logger } from '../../telemetry/log.ts';
import { expireDeadlines } from './recover.ts';

/** A deadline further away has a durable wake-up, which fires up to 5 s early (`jobferry_wake`). */
const OWN_TIMER_MS = 6000;

/**
 * Expires leases and ack deadlines when they are due, with one timer per queue. A timer that fires late waits once more
 * (`decideAfter`): after a suspension of a process that also has the API, acks that came in time may not have been read
 * yet.
 */
export class Deadlines {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #wake: (queueId: string) => void;
  readonly #changes: ChangeFeed;
  /** By queue: withdraws its timer. */
  readonly #timers = new Map<string, () => void>();
  #stopped = false;

  constructor(db: Database, log: Logger, wake: (queueId: string) => void, changes: ChangeFeed) {
    this.#db = db;
    this.#log = log;
    this.#wake = wake;
    this.#changes = changes;
  }

  /** Expires the queue's passed deadlines, and sets a timer if the next one is near. */
  async check(queueId: string): Promise<void> {
    this.#timers.get(queueId)?.();
    this.#timers.delete(queueId);
    if (this.#stopped) return;
    try {
      const { queues, nextMs } = await expireDeadlines(this.#db, queueId, this.#changes);
      for (const id of queues) this.#wake(id);
      if (nextMs === null || nextMs > OWN_TIMER_MS || this.#stopped) return;
      this.#timers.get(queueId)?.();
      const withdraw = decideAfter(Math.max(1, Math.ceil(nextMs)), () => void this.check(queueId));
      this.#timers.set(queueId, withdraw);
    } catch (error) {
      this.#log.warn({ err: error, queueId }, 'deadlines of a queue could not be expired; this will be retried');
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const withdraw of this.#timers.values()) withdraw();
  }
}
