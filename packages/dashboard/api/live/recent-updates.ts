import { keyOf, patch } from './patch.ts';

/** Objects kept, the newest: more than all that a page can watch. */
const MAX_KEPT = 1000;

/**
 * The last live message of each object. A request that was sent before a message may return older data than the message
 * had, so the message is applied to its result again.
 */
export class RecentUpdates {
  readonly #updates = new Map<string, { value: object; number: number }>();
  #number = 0;

  /** A point in the course of messages, to be taken before a request is sent. */
  mark(): number {
    return this.#number;
  }

  add(objects: readonly object[]): void {
    this.#number += 1;
    for (const value of objects) {
      const key = keyOf(value);
      if (key === null) continue;
      // The map keeps the order of insertion, so the first key is the oldest.
      this.#updates.delete(key);
      this.#updates.set(key, { value, number: this.#number });
    }
    for (const key of this.#updates.keys()) {
      if (this.#updates.size <= MAX_KEPT) break;
      this.#updates.delete(key);
    }
  }

  /** The data with what came after the mark. */
  applyTo<Data>(data: Data, mark: number): Data {
    const later = new Map<string, object>();
    for (const [key, { value, number }] of this.#updates) if (number > mark) later.set(key, value);
    return patch(data, later);
  }
}

export const recentUpdates = new RecentUpdates();
