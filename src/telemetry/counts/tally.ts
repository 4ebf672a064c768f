/** Joins the values of several labels. No label value that Jobferry counts by contains it. */
const SEPARATOR = '\t';

/** Counts events by the values of their labels. Which values there can be is bounded by the callers. */
export class Tally {
  readonly #counts = new Map<string, number>();

  /** @param keys counted from 0, so that the first event is an increase of a series, and not a new one */
  constructor(keys: readonly string[] = []) {
    for (const key of keys) this.#counts.set(key, 0);
  }

  /** @param key value of the label, or the result of `keyOf` */
  add(key: string, count = 1): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  /** Adds everything that the other one has counted. */
  addAll(other: Tally): void {
    for (const [key, count] of other.#counts) this.add(key, count);
  }

  /** @returns the counts with the values of their labels */
  entries(): { values: string[]; count: number }[] {
    return [...this.#counts].map(([key, count]) => ({ values: key.split(SEPARATOR), count }));
  }
}

export function keyOf(first: string, second: string, third?: string): string {
  return third === undefined ? first + SEPARATOR + second : first + SEPARATOR + second + SEPARATOR + third;
}
