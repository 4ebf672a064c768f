import { JobferryError } from '../domain/errors.ts';

export interface BatcherOptions<In> {
  maxItems: number;
  /** Bound on what one statement carries. */
  maxBytes: number;
  sizeOf(item: In): number;
  /** Above this, callers are turned away: a queue without a bound only hides an overload. */
  maxWaiting: number;
  /** A caller hears "unavailable" after this time, whatever became of the item. */
  deadlineMs: number;
}

interface Waiting<In, Out> {
  item: In;
  resolve(answer: Out): void;
  reject(error: unknown): void;
}

/**
 * Group commit: what arrives while a flush is under way rides the next one. Nothing waits when
 * idle, and under load one commit carries many items.
 */
export class Batcher<In, Out> {
  readonly #flush: (items: In[]) => Promise<Out[]>;
  readonly #options: BatcherOptions<In>;
  #waiting: Waiting<In, Out>[] = [];
  #flushing = false;

  constructor(flush: (items: In[]) => Promise<Out[]>, options: BatcherOptions<In>) {
    this.#flush = flush;
    this.#options = options;
  }

  /** @throws JobferryError `unavailable` when too many wait, or the deadline has passed */
  add(item: In, deadlineMs = this.#options.deadlineMs): Promise<Out> {
    if (this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.reject(new JobferryError('unavailable', 'too many requests are waiting, try again'));
    }
    return new Promise<Out>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new JobferryError('unavailable', 'the database did not answer in time, try again'));
      }, deadlineMs);
      this.#waiting.push({
        item,
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      if (!this.#flushing) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#flushing = true;
    // One turn of the event loop, so that requests that were read together ride together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#flushBatch(this.#take());
    this.#flushing = false;
  }

  #take(): Waiting<In, Out>[] {
    const { maxItems, maxBytes, sizeOf } = this.#options;
    let bytes = 0;
    let count = 0;
    for (const { item } of this.#waiting) {
      bytes += sizeOf(item);
      if (count > 0 && (count >= maxItems || bytes > maxBytes)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #flushBatch(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const answers = await this.#flush(batch.map((waiting) => waiting.item));
      for (const [index, waiting] of batch.entries()) {
        const answer = answers[index];
        if (answer === undefined) waiting.reject(new Error('a batch was answered in part'));
        else waiting.resolve(answer);
      }
    } catch (error) {
      const poisoned = !(error instanceof JobferryError) && batch.length > 1;
      // One item that the database cannot take must not fail its neighbours.
      if (poisoned) for (const waiting of batch) await this.#flushBatch([waiting]);
      else for (const waiting of batch) waiting.reject(error);
    }
  }
}
