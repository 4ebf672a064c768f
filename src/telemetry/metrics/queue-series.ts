import type { MeasuredQueue } from '../../db/insight/measures.ts';
import type { QueueCount, QueueCounts } from '../counts/queue-counts.ts';
import { Tally } from '../counts/tally.ts';
import type { Sample } from './registry.ts';

/** Values of the labels `account` and `queue` of the queues without series of their own. */
export const OTHER: readonly [account: string, queue: string] = ['other', 'other'];

/**
 * The counters by queue, as the page shows them. A number never goes down: what was counted under `other` stays there
 * when its queue gets series of its own, and the series of a queue that has lost them disappear.
 */
export class QueueSeries {
  readonly #counts: QueueCounts;
  #named = new Map<string, MeasuredQueue>();
  readonly #own = new Map<string, Tally>();
  readonly #others = new Tally();

  constructor(counts: QueueCounts) {
    this.#counts = counts;
  }

  /**
   * Adds what was counted since the last page.
   * @param named the queues with series of their own; null if they could not be read now, so that queues that are not
   *   known yet are added by a later page
   */
  update(named: readonly MeasuredQueue[] | null): void {
    if (named !== null) {
      this.#named = new Map(named.map((queue) => [queue.id, queue]));
      for (const queueId of this.#own.keys()) if (!this.#named.has(queueId)) this.#own.delete(queueId);
    }
    const { queues, others } = this.#counts.take((queueId) => named !== null || this.#named.has(queueId));
    this.#others.addAll(others);
    for (const [queueId, counts] of queues) this.#of(queueId).addAll(counts);
  }

  *read(what: QueueCount): Generator<Sample> {
    yield* samplesOf(this.#others, what, OTHER);
    for (const [queueId, counts] of this.#own) {
      const { accountId = '', name = '' } = this.#named.get(queueId) ?? {};
      yield* samplesOf(counts, what, [accountId, name]);
    }
  }

  #of(queueId: string): Tally {
    if (!this.#named.has(queueId)) return this.#others;
    let counts = this.#own.get(queueId);
    if (counts === undefined) {
      counts = new Tally();
      this.#own.set(queueId, counts);
    }
    return counts;
  }
}

function* samplesOf(counts: Tally, what: QueueCount, queue: readonly string[]): Generator<Sample> {
  for (const { values, count } of counts.entries()) {
    const [counted, ...more] = values;
    if (counted === what) yield [[...queue, ...more], count];
  }
}
