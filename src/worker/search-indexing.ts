import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../db/database.ts';
import { indexPayloads } from '../db/search-index.ts';

/** Takes about 50 ms, and less when payloads are large. */
const BATCH = 500;
/** A pause is so many times as long as the batch before: while jobs are delivered, that comes first. */
const PAUSE_FACTOR = { delivering: 12, idle: 1 };
const MAX_PAUSE_MS = 5000;

/** Makes new payloads searchable until there are no more, or until it is told to stop. */
export class SearchIndexing {
  readonly #db: Database;
  readonly #isDelivering: () => boolean;
  readonly #stopping = new AbortController();
  #pauseMs = 0;

  constructor(db: Database, isDelivering: () => boolean) {
    this.#db = db;
    this.#isDelivering = isDelivering;
  }

  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const startedAt = performance.now();
      const indexed = await indexPayloads(this.#db, BATCH, this.#pauseMs);
      if (indexed === 0) return;
      const factor = this.#isDelivering() ? PAUSE_FACTOR.delivering : PAUSE_FACTOR.idle;
      this.#pauseMs = Math.min((performance.now() - startedAt) * factor, MAX_PAUSE_MS);
      await wait(this.#pauseMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  stop(): void {
    this.#stopping.abort();
  }
}
