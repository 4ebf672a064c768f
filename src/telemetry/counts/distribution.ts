/** Upper bounds of buckets for durations in seconds: from a statement on an idle database to the longest delivery. */
export const SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60,
];
/** Upper bounds of buckets for the time that a job waits: a job may wait for hours. */
export const WAIT_SECONDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 86_400,
];
/** Upper bounds of buckets for the number of jobs in a batch. */
export const SIZES: readonly number[] = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500];

/** Counts observed values by bucket. An observation is a search in a short array and two additions. */
export class Distribution {
  readonly bounds: readonly number[];
  /** Values by bucket, without those of smaller buckets; the last bucket has no upper bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket += 1;
    (this.counts[bucket] as number) += 1;
    this.sum += value;
  }
}

/** Distributions by the value of one label. */
export class Distributions {
  readonly #bounds: readonly number[];
  readonly #by = new Map<string, Distribution>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  observe(value: string, observed: number): void {
    let distribution = this.#by.get(value);
    if (distribution === undefined) {
      distribution = new Distribution(this.#bounds);
      this.#by.set(value, distribution);
    }
    distribution.observe(observed);
  }

  entries(): Iterable<[value: string, distribution: Distribution]> {
    return this.#by.entries();
  }
}
