import { keyOf, Tally } from './tally.ts';

/** Events that are counted by queue. */
export type QueueCount = 'publishes' | 'deliveries' | 'completed' | 'retries' | 'holds' | 'dead';

/** Queues that are counted one by one until the next `take`. Events of further queues are counted together. */
const MAX_QUEUES = 10_000;

/**
 * Counts by queue since the last `take`. Which queues have a series of their own is known only while a page is made, so
 * events are kept by queue until then. If no page is ever made, this holds at most `MAX_QUEUES` queues, some megabytes.
 * The first label of a tally is a `QueueCount`.
 */
export class QueueCounts {
  readonly #queues = new Map<string, Tally>();
  #others = new Tally();

  add(queueId: string, what: QueueCount, key: string): void {
    this.#of(queueId).add(keyOf(what, key));
  }

  /**
   * Returns the counts of the queues for which `knows` is true, and of the queues above the limit.
   * They start again at 0.
   */
  take(knows: (queueId: string) => boolean): { queues: Map<string, Tally>; others: Tally } {
    const others = this.#others;
    this.#others = new Tally();
    const queues = new Map<string, Tally>();
    for (const [queueId, counts] of this.#queues) {
      if (!knows(queueId)) continue;
      queues.set(queueId, counts);
      this.#queues.delete(queueId);
    }
    return { queues, others };
  }

  #of(queueId: string): Tally {
    let counts = this.#queues.get(queueId);
    if (counts === undefined) {
      if (this.#queues.size >= MAX_QUEUES) return this.#others;
      counts = new Tally();
      this.#queues.set(queueId, counts);
    }
    return counts;
  }
}
