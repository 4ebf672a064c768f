import { describe, expect, it } from 'vitest';
import {
  axisTime,
  axisTimes,
  axisValues,
  bandPath,
  bucketSeconds,
  foldedMarks,
  linePath,
  lonePath,
  moveEdge,
  spanOfBuckets,
  spanWithin,
  withoutRest,
} from '../../packages/dashboard/parts/chart/geometry.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const at = (clock: string) => Date.parse(`2026-11-12T${clock}:00Z`);
const domain = { from: at('09:00'), to: at('12:05') };
const bucketMs = 5 * MINUTE;

describe('buckets', () => {
  it('are longer for longer ranges', () => {
    expect([1, 6, 6.1, 36, 72].map((hours) => bucketSeconds(hours * HOUR))).toEqual([300, 300, 1800, 1800, 3600]);
  });
});

describe('the brush', () => {
  it('chooses whole buckets, in whichever direction it is dragged', () => {
    const span = { from: at('10:50'), to: at('11:05') };
    expect(spanOfBuckets(at('10:52'), at('11:01'), domain, bucketMs)).toEqual(span);
    expect(spanOfBuckets(at('11:01'), at('10:52'), domain, bucketMs)).toEqual(span);
  });

  it('stays within the chart, and is never empty', () => {
    expect(spanOfBuckets(at('08:00'), at('13:00'), domain, bucketMs)).toEqual(domain);
    expect(spanOfBuckets(at('10:00'), at('10:00'), domain, bucketMs)).toEqual({ from: at('10:00'), to: at('10:05') });
  });

  it('shows the part of a span that the chart has', () => {
    expect(spanWithin({ from: at('08:00'), to: at('10:00') }, domain)).toEqual({ from: at('09:00'), to: at('10:00') });
    expect(spanWithin({ from: at('07:00'), to: at('08:00') }, domain)).toBeNull();
  });

  it('moves one edge by buckets, up to the other edge and to the ends', () => {
    const span = { from: at('10:00'), to: at('10:30') };
    expect(moveEdge(span, 'from', -1, domain, bucketMs)).toEqual({ from: at('09:55'), to: at('10:30') });
    expect(moveEdge(span, 'from', 99, domain, bucketMs)).toEqual({ from: at('10:25'), to: at('10:30') });
    expect(moveEdge(span, 'to', -99, domain, bucketMs)).toEqual({ from: at('10:00'), to: at('10:05') });
    expect(moveEdge(span, 'to', 99, domain, bucketMs)).toEqual({ from: at('10:00'), to: at('12:05') });
    expect(moveEdge(span, 'from', -99, domain, bucketMs).from).toBe(domain.from);
  });
});

describe('a line of trouble', () => {
  it('is drawn where there is some, with its rise and fall', () => {
    expect(withoutRest([0, 0, 3, 0, 0, null, 0])).toEqual([null, 0, 3, 0, null, null, null]);
  });
});

describe('the axes', () => {
  it('have round times, no more than there is room for', () => {
    expect(axisTimes(domain, 'utc', 7).map((time) => axisTime(time, 'utc'))).toEqual([
      ...['09:00', '09:30', '10:00', '10:30', '11:00', '11:30', '12:00'],
    ]);
    expect(axisTimes(domain, 'utc', 2)).toHaveLength(2);
  });

  it('have round times on both sides of a change of the clock', () => {
    const zone = process.env.TZ;
    process.env.TZ = 'Europe/Berlin';
    try {
      // At 01:00 UTC the clock goes from 03:00 back to 02:00.
      const night = { from: Date.parse('2026-10-24T20:00:00Z'), to: Date.parse('2026-10-25T20:00:00Z') };
      expect(axisTimes(night, 'local', 5).map((time) => axisTime(time, 'local').replace('\u00a0', ' '))).toEqual([
        ...['25 Oct', '06:00', '12:00', '18:00'],
      ]);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('say the day at its start', () => {
    const three = { from: at('13:00') - 72 * HOUR, to: at('13:00') };
    const texts = axisTimes(three, 'utc', 7).map((time) => axisTime(time, 'utc'));
    expect(texts.map((text) => text.replace('\u00a0', ' '))).toEqual([
      ...['10 Nov', '12:00', '11 Nov', '12:00', '12 Nov', '12:00'],
    ]);
  });

  it('have round values from 0 to at least the largest', () => {
    expect(axisValues(36, 'number', 4)).toEqual([0, 10, 20, 30, 40]);
    expect(axisValues(0.3, 'number', 3)).toEqual([0, 0.1, 0.2, 0.3]);
    expect(axisValues(0, 'number', 4)).toEqual([0, 1]);
  });

  it('have steps of durations that people read: 15 s, 5 min', () => {
    expect(axisValues(40_000, 'duration', 3)).toEqual([0, 15_000, 30_000, 45_000]);
    expect(axisValues(500_000, 'duration', 4)).toEqual([0, 5 * MINUTE, 10 * MINUTE]);
    expect(axisValues(900, 'duration', 2)).toEqual([0, 500, 1000]);
  });
});

describe('the lines of a drawing', () => {
  const dots = (...ys: (number | null)[]) => ys.map((y, index) => (y === null ? null : { x: index * 10, y }));

  it('are broken where a value is missing, and a value alone is a dot', () => {
    expect(linePath(dots(1, 2, null, 3, 4.26))).toBe('M0.0 1.0L10.0 2.0M30.0 3.0L40.0 4.3');
    expect(lonePath(dots(1, 2, null, 3, null))).toBe('M30.0 3.0h0');
    expect([linePath([]), lonePath(dots(1, 2))]).toEqual(['', '']);
  });

  it('have an area between them only where the upper one is above', () => {
    expect(bandPath(dots(0, 0), dots(10, 10))).toBe('M0.0 0.0L10.0 0.0L10.0 10.0L0.0 10.0Z');
    expect(bandPath(dots(10, 10), dots(0, 0))).toBe('');
    // They cross in the middle.
    expect(bandPath(dots(0, 10), dots(10, 0))).toBe('M0.0 0.0L5.0 5.0L0.0 10.0Z');
    expect(bandPath(dots(10, 0), dots(0, 10))).toBe('M5.0 5.0L10.0 0.0L10.0 10.0Z');
    expect(bandPath(dots(0, null, 0), dots(10, 10, 10))).toBe('');
  });
});

it('folds marks that would overlap, and leaves out those of other times', () => {
  const mark = (at: number) => ({ at, text: String(at) });
  const marks = [95, 5, 12, 40, 100, -1].map(mark);
  expect(foldedMarks(marks, { from: 0, to: 100 }, 240)).toEqual([[mark(5), mark(12)], [mark(40)], [mark(95)]]);
  expect(foldedMarks(marks, { from: 0, to: 100 }, 2400)).toEqual([[mark(5)], [mark(12)], [mark(40)], [mark(95)]]);
  expect(foldedMarks([], { from: 0, to: 100 }, 240)).toEqual([]);
});
