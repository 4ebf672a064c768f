import type { Flow } from './queue-condition.ts';

/** Attempts over time: the spans that a person chooses, and the flow of jobs that the last points show. */

/** Bars of a sparkline. */
export const BUCKETS = 36;
const HOUR = 3_600_000;

export interface Span {
  id: '3h' | '24h' | '3d';
  label: string;
  ms: number;
  /** One bar of a sparkline; the server takes multiples of 300. */
  bucketSeconds: number;
}

const span = (id: Span['id'], label: string, hours: number): Span => ({
  id,
  label,
  ms: hours * HOUR,
  bucketSeconds: (hours * 3600) / BUCKETS,
});
const SHORTEST = span('3h', '3 h', 3);
export const SPANS: readonly Span[] = [SHORTEST, span('24h', '24 h', 24), span('3d', '3 days', 72)];

/** The span that `?window=` names; the shortest one otherwise. */
export function spanOf(id: string | null): Span {
  return SPANS.find((one) => one.id === id) ?? SHORTEST;
}

/** Start of the first bucket, so that the last of `BUCKETS` is the present one. */
export function startOf({ bucketSeconds }: Span, now: number): number {
  const bucketMs = bucketSeconds * 1000;
  return (Math.floor(now / bucketMs) - BUCKETS + 1) * bucketMs;
}

/** How far an earlier time is read, from its start: for bars of the next hour, too, so that it is read seldom. */
export const endOfThen = ({ bucketSeconds }: Span) =>
  (BUCKETS + Math.ceil(3600 / bucketSeconds)) * bucketSeconds * 1000;

interface Outcomes {
  at: string;
  success: number;
  failed: number;
  nacked: number;
  deferred: number;
}

export interface Point extends Outcomes {
  /** Number of changes of the queue's settings, if there were some. */
  changed?: number;
  wait: { p50: number | null; p95: number | null };
}

/** With the jobs that were published meanwhile, and attempts after which the job was dead. */
export interface FlowPoint extends Outcomes {
  published: number;
  dead: number;
  wait: { p50: number | null };
}

/** The server's finest bucket. */
export const RECENT_BUCKET_SECONDS = 300;
const BUCKET_MS = RECENT_BUCKET_SECONDS * 1000;
/** The flow is that of the present bucket; with the one before it, until so much of it has passed. */
const LEAST_FLOW_MS = 60_000;
/**
 * So many recent points are fetched: the two of the flow, one for a clock that is a little off,
 * and one more to see what is quiet.
 */
export const RECENT_BUCKETS = 4;

export function recentStart(now: number): number {
  return (Math.floor(now / BUCKET_MS) - RECENT_BUCKETS + 1) * BUCKET_MS;
}

export const attemptsIn = ({ success, failed, nacked, deferred }: Outcomes) => success + failed + nacked + deferred;

/**
 * Jobs per second that come and leave, how late they are, and whether attempts end.
 * @param points of 300 s each
 * @param now when they were counted
 * @param lastMinute jobs that were published in the minute before: a burst does not go on for as long as the points
 * last
 */
export function flowOf(points: readonly FlowPoint[], now: number, lastMinute?: number): Flow {
  const latest = latestOf(points, now);
  const last = points.findLast((point) => attemptsIn(point) > 0);
  const [first] = points;
  const span = latestSpan(points, now);
  const quietSince = last === undefined ? first?.at : last.at;
  const perSecond = (counts: readonly number[]) =>
    span === null ? null : (counts.reduce((sum, count) => sum + count, 0) * 1000) / (span.to - span.from);
  return {
    in: lastMinute === undefined ? perSecond(latest.map(({ published }) => published)) : lastMinute / 60,
    out: perSecond(latest.map(({ success, dead }) => success + dead)),
    accepted: perSecond(latest.map(({ success }) => success)),
    wait: latest.findLast(({ wait }) => wait.p50 !== null)?.wait.p50 ?? null,
    span,
    moves: last !== undefined && Date.parse(last.at) + BUCKET_MS > now,
    quietSince: quietSince === undefined ? null : Date.parse(quietSince) + (last === undefined ? 0 : BUCKET_MS),
    lastAt: null,
    ...(last === undefined && first !== undefined && { isUnseen: true }),
  };
}

/** The time of the flow: up to now, a minute at least and six at most; null if there are no points of it. */
function latestSpan(points: readonly { at: string }[], now: number): { from: number; to: number } | null {
  const [first] = latestOf(points, now);
  return first === undefined ? null : { from: Date.parse(first.at), to: now };
}

function latestOf<P extends { at: string }>(points: readonly P[], now: number): P[] {
  const from = Math.floor((now - LEAST_FLOW_MS) / BUCKET_MS) * BUCKET_MS;
  const latest = points.filter(({ at }) => Date.parse(at) >= from && Date.parse(at) <= now);
  return latest[0] !== undefined && Date.parse(latest[0].at) === from ? latest : [];
}

/** Attempts of the time of the flow, how many failed, and how many put their jobs off. */
export function recentOutcome(points: readonly Point[], now: number): { all: number; failed: number; putOff: number } {
  return outcomeOf(latestOf(points, now));
}

/** Attempts of all points, how many failed, and how many put their jobs off. */
export function outcomeOf(points: readonly Point[]): { all: number; failed: number; putOff: number } {
  return {
    all: points.reduce((sum, point) => sum + attemptsIn(point), 0),
    failed: points.reduce((sum, { failed, nacked }) => sum + failed + nacked, 0),
    putOff: points.reduce((sum, { deferred }) => sum + deferred, 0),
  };
}

/**
 * The points of several queues as those of one, in the order of time.
 * Percentiles cannot be summed, so they are left out.
 */
export function sumOfPoints(all: Iterable<readonly Point[]>): Point[] {
  const sums = new Map<string, Point>();
  for (const points of all) {
    for (const { at, success, failed, nacked, deferred } of points) {
      const sum = sums.get(at) ?? { at, success: 0, failed: 0, nacked: 0, deferred: 0, wait: { p50: null, p95: null } };
      sums.set(at, {
        ...sum,
        success: sum.success + success,
        failed: sum.failed + failed,
        nacked: sum.nacked + nacked,
        deferred: sum.deferred + deferred,
      });
    }
  }
  return [...sums.values()].sort((a, b) => (a.at < b.at ? -1 : 1));
}

/** The latest 95th percentile of the wait, in milliseconds; null if nothing was delivered of late. */
export function recentWait(points: readonly Point[]): number | null {
  return points.findLast(({ wait }) => wait.p95 !== null)?.wait.p95 ?? null;
}

/** The points with the changes of the queue in the time of each. */
export function withChanges(
  points: readonly Point[],
  changes: readonly { at: string }[],
  bucketSeconds: number,
): readonly Point[] {
  if (changes.length === 0) return points;
  return points.map((point) => {
    const from = Date.parse(point.at);
    const within = ({ at }: { at: string }) => Date.parse(at) >= from && Date.parse(at) < from + bucketSeconds * 1000;
    return { ...point, changed: changes.filter(within).length };
  });
}
