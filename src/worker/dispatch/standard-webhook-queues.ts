import type { Database } from '../../db/connection/database.ts';
import { standardWebhookIds } from '../../db/queues/standard-webhooks.ts';

/**
 * The ids of the queues whose deliveries have the headers of Standard Webhooks, as last read. The process polls them, because
 * a claim that returned the setting would cost all queues something (docs/decisions/0050). While the database cannot be
 * reached, the last ids hold, so deliveries go on as before.
 */
export class StandardWebhookQueues {
  readonly #db: Database;
  #ids: ReadonlySet<string> = new Set();
  #digest: string | null = null;
  /** Resolves when the last read that has begun, or waits, has ended. */
  #last: Promise<void> = Promise.resolve();
  /** The read that waits for the running one; null if none waits. */
  #next: Promise<void> | null = null;

  constructor(db: Database) {
    this.#db = db;
  }

  has(queueId: string): boolean {
    return this.#ids.has(queueId);
  }

  /**
   * Resolves when the ids have been read by a statement that was sent after the call. Reads follow each other, so that no older
   * answer replaces a newer one, and calls that wait share one.
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
    const { digest, ids } = await standardWebhookIds(this.#db, this.#digest);
    this.#digest = digest;
    if (ids !== null) this.#ids = new Set(ids);
  }
}
