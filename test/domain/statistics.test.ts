import { describe, expect, it } from 'vitest';
import { type AttemptTotals, NO_ATTEMPTS, sumOf, timelineGrid, timelineOf } from '../../src/domain/statistics.ts';
import { histogramOf } from '../support/histogram.ts';
import { HOUR, NOW } from '../support/job-states.ts';

const MINUTE = 60_000;
const grid = (from: number, to: number, bucketSeconds: number, earliest = 0) =>
  timelineGrid({ from: new Date(from), to: new Date(to), bucketSeconds }, earliest);

describe('the grid of a timeline', () => {
  it.each([
    ['a day', NOW - 24 * HOUR, NOW, 300, { startMs: NOW - 24 * HOUR, bucketMs: 300_000, count: 288 }],
    ['bounds between spans', NOW + MINUTE, NOW + 11 * MINUTE, 300, { startMs: NOW, bucketMs: 300_000, count: 3 }],
    ['one moment', NOW + 1, NOW + 2, 600, { startMs: NOW, bucketMs: 600_000, count: 1 }],
    ['nothing', NOW, NOW, 300, { startMs: NOW, bucketMs: 300_000, count: 0 }],
    ['a range that is upside down', NOW, NOW - HOUR, 300, { startMs: NOW, bucketMs: 300_000, count: 0 }],
    ['the most', NOW - 1000 * 5 * MINUTE, NOW, 300, { startMs: NOW - 5000 * MINUTE, bucketMs: 300_000, count: 1000 }],
    ['too many', NOW - 1000 * 5 * MINUTE - 1, NOW, 300, null],
    ['spans that cannot be filled', NOW - HOUR, NOW, 450, null],
    ['no spans', NOW - HOUR, NOW, 0, null],
    ['negative spans', NOW - HOUR, NOW, -300, null],
  ])('the grid of a timeline fits %s', (_name, from, to, bucketSeconds, expected) => {
    expect(grid(from, to, bucketSeconds)).toEqual(expected);
  });

  it('begins where retention does', () => {
    expect(grid(0, NOW, 3600, NOW - 2 * HOUR + 1)).toEqual({ startMs: NOW - 2 * HOUR, bucketMs: HOUR, count: 2 });
    expect(grid(0, NOW - 3 * HOUR, 3600, NOW - 2 * HOUR)).toMatchObject({ count: 0 });
  });
});

describe('timeline', () => {
  const totals = { ...NO_ATTEMPTS, success: 2, dead: 1, durations: histogramOf([4, 4]), waits: histogramOf([1]) };

  it('has every point, and adds what falls into one', () => {
    const asked = grid(NOW, NOW + 30 * MINUTE, 600);
    if (asked === null) throw new Error('no grid');
    const points = timelineOf(asked, [
      { ...totals, at: NOW },
      { ...totals, at: NOW + 5 * MINUTE, durations: histogramOf([4]) },
      { ...totals, at: NOW + 20 * MINUTE },
      { ...totals, at: NOW + 30 * MINUTE },
      { ...totals, at: NOW - 1 },
    ]);
    expect(points.map(({ at, success, dead }) => [at.getTime(), success, dead])).toEqual([
      [NOW, 4, 2],
      [NOW + 10 * MINUTE, 0, 0],
      [NOW + 20 * MINUTE, 2, 1],
    ]);
    expect(points[0]?.duration).toEqual({ p50: 4, p95: 4, p99: 4 });
    expect(points[1]?.wait).toEqual({ p50: null, p95: null, p99: null });
  });

  it('sums every member', () => {
    const times = (factor: number) =>
      Object.fromEntries(
        Object.entries(NO_ATTEMPTS).map(([name, value], n) => [name, Array.isArray(value) ? [n * factor] : n * factor]),
      ) as unknown as AttemptTotals;
    const [one, twice] = [times(1), times(2)];
    expect(sumOf([one, one])).toEqual(twice);
    expect(sumOf([one])).toEqual(one);
    expect(sumOf([])).toEqual(NO_ATTEMPTS);
  });
});
