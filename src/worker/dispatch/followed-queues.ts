import type { Database } from '../../db/connection/database.ts';
import { type FollowedSettings, followedQueues } from '../../db/queues/followed.ts';

const NONE: FollowedSettings = { standardWebhooks: false, breaker: false };

/**
 * The settings of queues that a worker follows, as last read. While the database cannot be reached, the last ones hold,
 * so deliveries go on as before.
 */
export class FollowedQueues {
  readonly #db: Database;
  #queues: ReadonlyMap<string, FollowedSettings> = new Map();
  #digest: string | null = null;
  /** Resolves when the last read that has begun, or waits, has ended. */
  #last: Promise<void> = Promise.resolve();
  /** The read that waits for the running one; null if none waits. */
  #next: Promise<void> | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  of(queueId: string): FollowedSettings {
    return this.#queues.get(queueId) ?? NONE;
  }

  /**
   * Resolves when the settings have been read by a statement that was sent after the call. Reads follow each other, so
   * that no older answer replaces a newer one, and calls that wait share one.
   * @throws the error of the statement
   */
  read(): Promise<void> {
    if (this.#next !== null) return this.#next;
    const next = this.#last.then(() => {
      this.#next = null;
      return this.#readNow();
    });
    this.#next = next;
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #readNow(): Promise<void> {
    const { digest, queues } = await followedQueues(this.#db, this.#digest);
    this.#digest = digest;
    if (queues !== null) this.#queues = queues;
  }
}
