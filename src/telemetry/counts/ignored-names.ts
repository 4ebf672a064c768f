/** Publishes to one queue that had names which the API ignores (D37). */
export interface IgnoredOfQueue {
  accountId: string;
  /** Name of the queue. */
  queue: string;
  /** Those of the last one, as in the header of its answer. */
  names: string;
  count: number;
  /** Age of the first and of the last one. */
  firstMs: number;
  lastMs: number;
}

/** Fewer are a mistake of a person who tries something. */
const OFTEN = 3;
const FORGOTTEN_MS = 3_600_000;
/** Queues that one process remembers, the latest ones. */
const MAX_QUEUES = 50;

type Counted = Omit<IgnoredOfQueue, 'firstMs' | 'lastMs'> & { firstAt: number; lastAt: number };

/** Counts publishes with ignored names by queue. The heartbeat has them, so that any process can show them. */
export class IgnoredNames {
  readonly #queues = new Map<string, Counted>();

  add(accountId: string, queue: string, names: string): void {
    const key = `${accountId}/${queue}`;
    const now = performance.now();
    const earlier = this.#queues.get(key);
    // The queue with the oldest publish becomes the first of the map.
    this.#queues.delete(key);
    this.#queues.set(key, {
      accountId,
      queue,
      names,
      lastAt: now,
      firstAt: earlier?.firstAt ?? now,
      count: (earlier?.count ?? 0) + 1,
    });
    for (const [oldest] of this.#queues) {
      if (this.#queues.size <= MAX_QUEUES) break;
      this.#queues.delete(oldest);
    }
  }

  /** Returns the queues with several such publishes, the last within an hour. */
  recent(): IgnoredOfQueue[] {
    const now = performance.now();
    for (const [key, { lastAt }] of this.#queues) if (now - lastAt > FORGOTTEN_MS) this.#queues.delete(key);
    return [...this.#queues.values()]
      .filter(({ count }) => count >= OFTEN)
      .map(({ firstAt, lastAt, ...one }) => ({ ...one, firstMs: now - firstAt, lastMs: now - lastAt }));
  }
}
