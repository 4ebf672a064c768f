import { HOUR_MS, number } from '../../../../query/words/format.ts';
import { type Comparison, pointsThen } from '../../../words/comparison.ts';
import type { PointThen, QueueOfPage } from '../operations/queue.ts';

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
 * Values by bucket. Rates of the bucket that has not ended are of the time that has passed; they are left out until
 * half of it has, as they would jump.
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
      success: counts('success'),
      failed: counts('failed'),
      nacked: counts('nacked'),
      deferred: counts('deferred'),
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

/** The values of an earlier time, in the buckets of the charts. */
export interface Ghost {
  word: Comparison['word'];
  published: Values;
  accepted: Values;
  success: Values;
  durationP95: Values;
  waitP95: Values;
}

/** The points of an earlier time at the times of the charts; null where there are no statistics any more. */
export function ghostOf(
  times: readonly number[],
  then: readonly PointThen[],
  comparison: Comparison,
  bucketMs: number,
): Ghost {
  const points = pointsThen(times, then, comparison);
  const values = (of: (point: PointThen) => number | null): Values =>
    points.map((point) => (point === undefined ? null : of(point)));
  const rate = (count: number) => (count * 1000) / bucketMs;
  return {
    word: comparison.word,
    published: values(({ published }) => rate(published)),
    accepted: values(({ success }) => rate(success)),
    success: values(({ success }) => success),
    durationP95: values(({ duration }) => duration.p95),
    waitP95: values(({ wait }) => wait.p95),
  };
}

const newestOf = (values: Values) => values.findLast((value) => value !== null) ?? null;

/** The newest of these values, or their sum, for those who do not see the chart: never 0 for what is not known. */
export const newestShown = (values: Values, shown: (value: number) => string) => shownOr(newestOf(values), shown);

export const sumShown = (values: Values) =>
  shownOr(newestOf(values) === null ? null : values.reduce<number>((all, value) => all + (value ?? 0), 0), number);

const shownOr = (value: number | null, shown: (value: number) => string) =>
  value === null ? 'not known' : shown(value);

/**
 * The time since which changes of the queue are of interest: since its charts began, and an hour before its causes did.
 */
export function changesSince({
  timeline,
  errorGroups,
}: {
  timeline: readonly { at: string }[];
  errorGroups: readonly { firstSeen: string }[];
}): string {
  const times = [
    ...timeline.slice(0, 1).map(({ at }) => Date.parse(at)),
    ...errorGroups.map(({ firstSeen }) => Date.parse(firstSeen) - HOUR_MS),
  ];
  return new Date(Math.min(...times, 8.64e15)).toISOString();
}
