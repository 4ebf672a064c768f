import { bucketOf, type Histogram } from '../../src/domain/histogram.ts';

/** The histogram of some durations, as `jobferry_histogram` of the database counts it. */

export function histogramOf(values: Iterable<number>): Histogram {
  const counts: number[] = [];
  for (const value of values) {
    const n = bucketOf(value);
    while (counts.length <= n) counts.push(0);
    counts[n] = (counts[n] ?? 0) + 1;
  }
  return counts;
}
