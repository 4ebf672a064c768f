import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, mergeHistograms, percentile, percentilesOf } from '../../src/domain/histogram.ts';
import { histogramOf } from '../support/histogram.ts';

const duration = fc.oneof(fc.nat(20), fc.nat(20_000), fc.nat(2 ** 31 - 1));

describe('histogram', () => {
  it.each([
    [0, 0],
    [1, 0],
    [2, 4],
    [3, 6],
    [4, 8],
    [7, 11],
    [8, 12],
    [1000, 39],
    [15_000, 55],
    [2 ** 29, 116],
    [2 ** 31 - 1, 123],
  ])('%s ms are counted in bucket %s', (ms, bucket) => {
    expect(bucketOf(ms)).toBe(bucket);
  });

  it('puts every power of two at the beginning of its bucket', () => {
    for (let power = 0; power < 31; power += 1) expect(bucketOf(2 ** power)).toBe(4 * power);
  });

  it('merged is the histogram of all values', () => {
    fc.assert(
      fc.property(fc.array(fc.array(duration)), (parts) => {
        expect(mergeHistograms(parts.map(histogramOf))).toEqual(histogramOf(parts.flat()));
      }),
    );
  });
});

describe('percentile', () => {
  it('is within 10 % of the true one', () => {
    fc.assert(
      fc.property(
        fc.array(duration, { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1),
        (values, fraction) => {
          const sorted = values.map((value) => Math.max(value, 1)).sort((a, b) => a - b);
          const truth = sorted[Math.ceil(fraction * sorted.length) - 1] ?? 0;
          const estimate = percentile(histogramOf(values), fraction) ?? 0;
          expect(estimate / truth).toBeGreaterThan(0.9);
          expect(estimate / truth).toBeLessThan(1.1);
        },
      ),
    );
  });

  it.each([1, 2, 3, 4, 5, 6, 7])('the percentile of %s ms is exact', (ms) => {
    expect(percentile(histogramOf([ms, ms]), 0.5)).toBe(ms);
  });

  it('does not fall when the fraction grows', () => {
    fc.assert(
      fc.property(fc.array(duration, { minLength: 1 }), (values) => {
        const { p50, p95, p99 } = percentilesOf(histogramOf(values));
        expect([p50, p95, p99]).toEqual([p50, p95, p99].sort((a, b) => (a ?? 0) - (b ?? 0)));
      }),
    );
  });

  it('the percentile of no durations is null', () => {
    expect(percentilesOf([])).toEqual({ p50: null, p95: null, p99: null });
    expect(percentile([0, 0, 0], 0.5)).toBeNull();
  });
});
