/**
 * Counts of durations by bucket, small enough to store one per queue and five minutes. Element n counts the
 * whole milliseconds `ms` with `floor(4 * log2(max(ms, 1))) = n`, so a bucket is 19 % wide and 31 of them
 * reach to three minutes. The SQL functions `jobferry_histogram_element`, `jobferry_histogram`
 * and `jobferry_histogram_sum` do the same.
 */
export type Histogram = readonly number[];

const BUCKETS_PER_DOUBLING = 4;
/** `log2` of a power of two may be slightly too small. No other whole number is that close to a bucket's bound. */
const ROUNDING = 1e-12;

export function bucketOf(ms: number): number {
  return Math.floor(BUCKETS_PER_DOUBLING * Math.log2(Math.max(ms, 1)) + ROUNDING);
}

export function mergeHistograms(histograms: Iterable<Histogram>): Histogram {
  const counts: number[] = [];
  for (const histogram of histograms) {
    for (let n = 0; n < histogram.length; n += 1) increase(counts, n, histogram[n] ?? 0);
  }
  return counts;
}

function increase(counts: number[], n: number, by: number): void {
  while (counts.length <= n) counts.push(0);
  counts[n] = (counts[n] ?? 0) + by;
}

/**
 * Returns the value that `fraction` of all values do not exceed, or null for an empty histogram. The result is
 * the geometric mean of the smallest and the largest whole number of its bucket, so it is at most 9.1 % off; a
 * value interpolated by rank could be off by the bucket's whole 19 %. Up to 7 ms a bucket holds one number, and
 * the result is exact.
 */
export function percentile(histogram: Histogram, fraction: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(fraction * total));
  let seen = 0;
  const n = histogram.findIndex((count) => {
    seen += count;
    return seen >= rank;
  });
  const lowest = firstOf(n);
  // Several buckets below 8 ms hold no whole number at all; then `lowest` is above `highest`.
  const highest = Math.max(lowest, firstOf(n + 1) - 1);
  return lowest === highest ? lowest : Math.round(Math.sqrt(lowest * highest) * 10) / 10;
}

/** The smallest whole number of a bucket. */
function firstOf(n: number): number {
  return Math.ceil(2 ** (n / BUCKETS_PER_DOUBLING) - ROUNDING);
}

/** Milliseconds; null when nothing was measured. Within 10 % of the true value. */
export interface Percentiles {
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export function percentilesOf(histogram: Histogram): Percentiles {
  return { p50: percentile(histogram, 0.5), p95: percentile(histogram, 0.95), p99: percentile(histogram, 0.99) };
}
