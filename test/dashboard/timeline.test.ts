import { describe, expect, it } from 'vitest';
import { sparkSentence, sparkThen } from '../../packages/dashboard/features/queues/model/spark.ts';
import {
  BUCKETS,
  endOfThen,
  type FlowPoint,
  flowOf,
  outcomeOf,
  type Point,
  RECENT_BUCKETS,
  recentOutcome,
  recentStart,
  recentWait,
  SPANS,
  spanOf,
  startOf,
  sumOfPoints,
  withChanges,
} from '../../packages/dashboard/features/queues/model/timeline.ts';
import { stepPath } from '../../packages/dashboard/parts/chart/step-path.ts';
import { comparisonOf } from '../../packages/dashboard/words/comparison.ts';
import { NO_FLOW } from '../support/no-flow.ts';

const now = Date.parse('2026-11-12T12:04:11Z');
const at = (clock: string) => `2026-11-12T${clock}:00.000Z`;
const point = (clock: string, change: Partial<Point> = {}): Point => ({
  at: at(clock),
  success: 0,
  failed: 0,
  nacked: 0,
  deferred: 0,
  wait: { p50: null, p95: null },
  ...change,
});
const flowing = (
  clock: string,
  published: number,
  change: Partial<Point & { dead: number }> = {},
): FlowPoint & Point => ({
  ...point(clock),
  dead: 0,
  ...change,
  published,
});

describe('the span of the sparklines', () => {
  it('is what the address names, else the shortest', () => {
    expect(['24h', '3d', null, 'year'].map((id) => spanOf(id).id)).toEqual(['24h', '3d', '3h', '3h']);
  });

  it.each(SPANS)('has bars that the server can count, and ends with the present one: $label', (span) => {
    expect(span.bucketSeconds % 300).toBe(0);
    const end = startOf(span, now) + BUCKETS * span.bucketSeconds * 1000;
    expect(startOf(span, now) % (span.bucketSeconds * 1000)).toBe(0);
    expect(end).toBeGreaterThan(now);
    expect(end - span.bucketSeconds * 1000).toBeLessThanOrEqual(now);
  });
});

describe('the flow of a queue', () => {
  const points = [
    flowing('11:45', 9999, { success: 9999 }),
    flowing('11:50', 150, { success: 290, failed: 18, nacked: 2, dead: 10, deferred: 50, wait: { p50: 30, p95: 40 } }),
    flowing('11:55', 450, { success: 300, wait: { p50: 90, p95: 700 } }),
    flowing('12:00', 9999, { success: 1, wait: { p50: 5, p95: 6 } }),
  ];

  it('is that of the present bucket up to now; what was put off or is retried has not left', () => {
    // A burst has ended, and its queue works off the rest.
    const burst = [flowing('11:55', 9999), flowing('12:00', 0, { success: 100, failed: 9, deferred: 5, dead: 25 })];
    const span = { from: Date.parse(at('12:00')), to: now };
    expect(flowOf(burst, now)).toMatchObject({ in: 0, out: 125 / 251, accepted: 100 / 251, span });
  });

  it('is that of the bucket before, too, in the first minute of a bucket', () => {
    const early = Date.parse(at('12:00')) + 30_000;
    const span = { from: Date.parse(at('11:55')), to: early };
    expect(flowOf(points, early)).toMatchObject({ in: (450 + 9999) / 330, out: 301 / 330, wait: 5, span });
  });

  it('is what came in during the last minute, not in the burst before it', () => {
    // 500 jobs came at 12:00:05, and two slots with deliveries of 3.8 s work them off.
    const after = (seconds: number) => {
      const then = Date.parse(at('12:00')) + seconds * 1000;
      const burst = [flowing('11:55', 0), flowing('12:00', 500, { success: Math.floor(seconds / 1.9) })];
      return flowOf(burst, then, seconds < 65 ? 500 : 0);
    };
    expect(after(64)).toMatchObject({ in: 500 / 60 });
    for (const seconds of [66, 120, 240, 299]) {
      const { in: came, out } = after(seconds);
      expect([came, (out ?? 0) > 0.5]).toEqual([0, true]);
    }
  });

  it('is as late as the last delivery of that time', () => {
    expect(flowOf(points, now).wait).toBe(5);
    expect(flowOf([...points.slice(0, 3), flowing('12:00', 0)], now).wait).toBeNull();
  });

  it('is not known without the points of its time', () => {
    expect(flowOf(points.slice(0, 3), now)).toMatchObject({ in: null, out: null, span: null });
    expect(flowOf(points.slice(3), Date.parse(at('12:00')) + 30_000)).toMatchObject({ in: null, out: null });
    expect(flowOf([], now)).toEqual(NO_FLOW);
  });

  it('is quiet since the last bucket with an attempt ended, or is under way', () => {
    expect(flowOf(points, now)).toMatchObject({ moves: true });
    const quiet = [...points.slice(0, 3), flowing('12:00', 0)];
    expect(flowOf(quiet, now)).toMatchObject({ moves: false, quietSince: Date.parse(at('12:00')) });
    const none = [flowing('11:45', 0), flowing('11:50', 7)];
    expect(flowOf(none, now)).toMatchObject({ moves: false, quietSince: Date.parse(at('11:45')), isUnseen: true });
  });

  it('asks for enough points', () => {
    expect(new Date(recentStart(now)).toISOString()).toBe(at('11:45'));
    expect(points).toHaveLength(RECENT_BUCKETS);
  });

  it('counts the outcomes of the same time, and has the latest wait', () => {
    expect(recentOutcome(points, now)).toEqual({ all: 1, failed: 0, putOff: 0 });
    expect(outcomeOf(points.slice(1, 3))).toEqual({ all: 660, failed: 20, putOff: 50 });
    expect(recentWait(points)).toBe(6);
    expect(recentWait([point('11:55')])).toBeNull();
  });
});

describe('the sentence of a sparkline', () => {
  const said = (points: Point[]) => sparkSentence(points, '3 h').replace(/[\u00a0\u202f]/g, ' ');

  it('says how many, and what went wrong', () => {
    expect(said([])).toBe('No attempt in 3 h.');
    expect(said([point('11:00', { success: 1 })])).toBe('1 attempt in 3 h, none failed.');
    expect(said([point('11:00', { success: 990, failed: 7, nacked: 1, deferred: 2 })])).toBe(
      '1 000 attempts in 3 h, 8 failed, 2 deferred.',
    );
  });
});

it('has the changes of a queue in the time of each bar, which its sentence counts', () => {
  const points = [point('11:50', { success: 1 }), point('11:55', { success: 1 })];
  const marked = withChanges(points, [{ at: '2026-11-12T11:55:00Z' }, { at: '2026-11-12T11:59:59Z' }], 300);
  expect(marked.map(({ changed }) => changed)).toEqual([0, 2]);
  expect(sparkSentence(marked, '3 h')).toMatch(/none failed\. Its settings were changed 2\u00a0times\.$/);
  expect(withChanges(points, [], 300)).toBe(points);
});

describe('an earlier time in a sparkline', () => {
  const yesterday = comparisonOf('day');
  if (yesterday === null) throw new Error('it has a name');
  const then = (clock: string, success: number) => ({
    ...point(clock, { success }),
    at: `2026-11-11T${clock}:00.000Z`,
  });
  const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

  it('has its attempts at the bars of today, and says how many there were', () => {
    const points = [point('11:50'), point('11:55'), point('12:00')];
    const { values, sentence } = sparkThen(
      points,
      [then('11:55', 1200), then('12:00', 4), then('12:05', 9)],
      yesterday,
    );
    expect(values).toEqual([null, 1200, 4]);
    expect(plain(sentence)).toBe('The same period yesterday: 1 204 attempts.');
    expect(plain(sparkThen(points, [], yesterday).sentence)).toBe('');
  });

  it.each(SPANS)('is read for the next hour, too, in bars that divide it: $label', (span) => {
    const bucketMs = span.bucketSeconds * 1000;
    expect(yesterday.ms % bucketMs).toBe(0);
    expect(endOfThen(span)).toBeGreaterThanOrEqual(BUCKETS * bucketMs + 3_600_000);
    expect(endOfThen(span) % bucketMs).toBe(0);
  });

  it('is drawn as the outline of its bars, broken where nothing is known', () => {
    expect(stepPath([2, 4, null, 1], 4, (value) => 10 - value)).toBe('M0 8.0h4.00V6.0h4.00M12 9.0h4.00');
  });
});

it('sums the attempts of several queues by their time', () => {
  const one = [point('11:50', { success: 2 }), point('11:55', { failed: 1, wait: { p50: 4, p95: 9 } })];
  const other = [point('11:55', { failed: 2, nacked: 1, deferred: 3 }), point('12:00', { success: 5 })];
  expect(sumOfPoints([other, one])).toEqual([
    point('11:50', { success: 2 }),
    point('11:55', { failed: 3, nacked: 1, deferred: 3 }),
    point('12:00', { success: 5 }),
  ]);
  expect(sumOfPoints([])).toEqual([]);
});
