import { describe, expect, it } from 'vitest';

// The benchmarks are JavaScript without types.
const { compare, intervalOf, orderOf, togetherOf, undisturbed, verdictOf } = await import(
  new URL('../../rigs/bench/pairs/judge.mjs', import.meta.url).href
);

const repeated = (ratios: number[], times: number) => Array.from({ length: times }, () => ratios).flat();

describe('pairs of builds', () => {
  it('let each build go first in every other pair', () => {
    expect([0, 1, 2, 3].map(orderOf)).toEqual([
      ['new', 'old'],
      ['old', 'new'],
      ['new', 'old'],
      ['old', 'new'],
    ]);
  });

  it('have an interval around the median of their ratios, the same each time', () => {
    const ratios = repeated([0.9, 1, 1.1, 1.2], 3);
    const interval = intervalOf(ratios);
    expect(interval).toEqual(intervalOf(ratios));
    expect(interval.median).toBe(1.05);
    expect(interval.low).toBeGreaterThanOrEqual(0.9);
    expect(interval.low).toBeLessThan(1.05);
    expect(interval.high).toBeGreaterThan(1.05);
    expect(interval.high).toBeLessThanOrEqual(1.2);
    expect(intervalOf([1.01, 1.01, 1.01])).toEqual({ median: 1.01, low: 1.01, high: 1.01 });
  });

  it('have an interval that one outlier hardly moves, and that more pairs make narrower', () => {
    const width = ({ low, high }: { low: number; high: number }) => high - low;
    expect(intervalOf([...repeated([0.99, 1, 1.01], 4), 3]).high).toBeLessThan(1.02);
    const few = [0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2];
    expect(width(intervalOf(repeated(few, 9)))).toBeLessThan(width(intervalOf(few)));
  });

  it('compare a figure of both builds pair by pair', () => {
    const pairs = [
      { new: { total: 110 }, old: { total: 100 } },
      { new: { total: 330 }, old: { total: 300 } },
      { new: { total: 220 }, old: { total: 200 } },
    ];
    const found = compare(pairs, ({ total }: { total: number }) => total);
    expect(found).toEqual({ new: 220, old: 200, median: 1.1, low: 1.1, high: 1.1 });
  });

  it('do not count if other programs or the host of the machine were busy in either slice', () => {
    const quiet = { others: 0.1, stolen: 0.02 };
    const pairs = [
      { new: quiet, old: quiet },
      { new: { ...quiet, others: 0.11 }, old: quiet },
      { new: quiet, old: { ...quiet, stolen: 0.021 } },
    ];
    expect(undisturbed(pairs)).toEqual([pairs[0]]);
  });
});

describe('the verdict about a build', () => {
  it.each([
    ['worse', 1.051, 1.2],
    ['same', 1.05, 1.2],
    ['same', 0.9, 1],
    ['better', 0.9, 0.999],
  ])('is "%s" for an interval from %d to %d', (verdict, low, high) => {
    expect(verdictOf(true, 6, { low, high })).toBe(verdict);
  });

  it.each([
    ['worse', ['better', 'worse']],
    ['busy', ['better', 'busy']],
    ['better', ['same', 'better']],
    ['same', ['same', 'same']],
  ])('is "%s" for the verdicts %j of its loads', (verdict, verdicts) => {
    expect(togetherOf(verdicts)).toBe(verdict);
  });

  it('is none on a machine that was busy before or during most of the pairs', () => {
    expect(verdictOf(false, 12, { low: 2, high: 3 })).toBe('busy');
    expect(verdictOf(true, 5, { low: 0.1, high: 0.2 })).toBe('busy');
  });
});
