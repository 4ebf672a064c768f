import { number } from '../../../words/format.ts';
import type { QueueOfPage } from '../operations/queue.ts';

/** The values of a queue's charts, from its timeline. */

type Percentiles = AttemptsPoint['wait'];

export type AttemptsPoint = Omit<QueueOfPage['timeline'][number], 'dead'>;

export type Values = (number | null)[];

export interface QueueCharts {
  /** Starts of the buckets, in milliseconds. */
  times: number[];
  published: Values;
  /** Attempts by what became of them, as rates: accepted, failed or nacked, put off. */
  accepted: Values;
  failed: Values;
  putOff: Values;
  outcomes: Record<'success' | 'failed' | 'nacked' | 'deferred', Values>;
  duration: Record<keyof Percentiles, Values>;
  wait: Record<keyof Percentiles, Values>;
}

/**
 * Values by bucket. Rates of the bucket that has not ended are of the time that has passed; they are left out until half
 * of it has, as they would jump.
 */
export function queueCharts(
  timeline: readonly AttemptsPoint[],
  { now, bucketMs }: { now: number; bucketMs: number },
): QueueCharts {
  const passed = (at: string) => Math.min(bucketMs, now - Date.parse(at));
  const shown = timeline.filter(({ at }) => passed(at) >= bucketMs / 2);
  const rate = (count: number, at: string) => (count * 1000) / passed(at);
  const percentiles = (of: 'duration' | 'wait') => ({
    p50: shown.map((point) => point[of].p50),
    p95: shown.map((point) => point[of].p95),
    p99: shown.map((point) => point[of].p99),
  });
  const counts = (of: 'success' | 'failed' | 'nacked' | 'deferred') => shown.map((point) => point[of]);
  return {
    times: shown.map(({ at }) => Date.parse(at)),
    published: shown.map(({ published, at }) => rate(published, at)),
    accepted: shown.map(({ success, at }) => rate(success, at)),
    failed: shown.map(({ failed, nacked, at }) => rate(failed + nacked, at)),
    putOff: shown.map(({ deferred, at }) => rate(deferred, at)),
    outcomes: {
      ...{ success: counts('success'), failed: counts('failed') },
      ...{ nacked: counts('nacked'), deferred: counts('deferred') },
    },
    duration: percentiles('duration'),
    wait: percentiles('wait'),
  };
}

/** Rates below one a second are read by the minute. */
export function rateUnit(perSecond: Readonly<Values>): {
  word: 'second' | 'minute';
  shownIn: (values: Values) => Values;
} {
  const max = perSecond.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  if (max >= 1 || max === 0) return { word: 'second', shownIn: (values) => values };
  return { word: 'minute', shownIn: (values) => values.map((value) => (value === null ? null : value * 60)) };
}

/** Two figures that count: 0.05, 3.2, 120. */
export function chartRate(value: number): string {
  return value >= 10 ? number(Math.round(value)) : String(Number(value.toPrecision(2)));
}

export const WINDOWS = [
  { name: '3h', label: '3 h', hours: 3 },
  { name: '24h', label: '24 h', hours: 24 },
  { name: '3d', label: '3 days', hours: 72 },
] as const;
export type WindowName = (typeof WINDOWS)[number]['name'];

export function windowOf(name: string | null): (typeof WINDOWS)[number] {
  return WINDOWS.find((one) => one.name === name) ?? WINDOWS[0];
}
