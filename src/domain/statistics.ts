import { type Histogram, mergeHistograms, type Percentiles, percentilesOf } from './histogram.ts';

/** Totals over a set of attempts. The histograms are of milliseconds. */
export interface AttemptTotals {
  success: number;
  failed: number;
  nacked: number;
  deferred: number;
  /** Attempts after which the job died; each is also counted in one of the others. */
  dead: number;
  answered2xx: number;
  answered3xx: number;
  /** Without 401 and 429. */
  answered4xx: number;
  /** Without 503 and 529. */
  answered5xx: number;
  /** 401: the receiver most likely rejects the signature. */
  unauthorized: number;
  /** 429, 503 and 529. */
  backpressure: number;
  unanswered: number;
  durations: Histogram;
  waits: Histogram;
}

export const NO_ATTEMPTS: AttemptTotals = {
  success: 0,
  failed: 0,
  nacked: 0,
  deferred: 0,
  dead: 0,
  answered2xx: 0,
  answered3xx: 0,
  answered4xx: 0,
  answered5xx: 0,
  unauthorized: 0,
  backpressure: 0,
  unanswered: 0,
  durations: [],
  waits: [],
};

export function sumOf(parts: readonly AttemptTotals[]): AttemptTotals {
  if (parts.length <= 1) return parts[0] ?? NO_ATTEMPTS;
  const sum = (member: Exclude<keyof AttemptTotals, 'durations' | 'waits'>) =>
    parts.reduce((total, part) => total + part[member], 0);
  return {
    success: sum('success'),
    failed: sum('failed'),
    nacked: sum('nacked'),
    deferred: sum('deferred'),
    dead: sum('dead'),
    answered2xx: sum('answered2xx'),
    answered3xx: sum('answered3xx'),
    answered4xx: sum('answered4xx'),
    answered5xx: sum('answered5xx'),
    unauthorized: sum('unauthorized'),
    backpressure: sum('backpressure'),
    unanswered: sum('unanswered'),
    durations: mergeHistograms(parts.map((part) => part.durations)),
    waits: mergeHistograms(parts.map((part) => part.waits)),
  };
}

/** Seconds that one stored row of statistics covers. */
export const STATS_BUCKET_SECONDS = 300;
export const MAX_TIMELINE_POINTS = 1000;

/** The requested chart. */
export interface TimelineInput {
  from: Date;
  to: Date;
  /** Length of a bucket in seconds; a multiple of 300. */
  bucketSeconds: number;
}

/** The points of a chart: `count` spans of `bucketMs` from `startMs` on. */
export interface TimelineGrid {
  startMs: number;
  bucketMs: number;
  count: number;
}

/**
 * Returns buckets that cover the range. They are aligned to the epoch, so that two charts of a day agree. `from` moves
 * forward to `earliestMs`, where retention begins.
 * @returns null if `bucketSeconds` is not a multiple of the stored statistics' seconds, or the buckets are too many
 */
export function timelineGrid({ from, to, bucketSeconds }: TimelineInput, earliestMs: number): TimelineGrid | null {
  if (!(bucketSeconds > 0) || bucketSeconds % STATS_BUCKET_SECONDS !== 0) return null;
  const bucketMs = bucketSeconds * 1000;
  const startMs = Math.floor(Math.max(from.getTime(), earliestMs) / bucketMs) * bucketMs;
  const count = Math.max(0, Math.ceil((to.getTime() - startMs) / bucketMs));
  return count > MAX_TIMELINE_POINTS ? null : { startMs, bucketMs, count };
}

export interface TimelinePoint {
  /** Start of the bucket. */
  at: Date;
  success: number;
  failed: number;
  nacked: number;
  deferred: number;
  /** Attempts after which the job died; each is also counted in one of the others. */
  dead: number;
  /** Durations of the deliveries. */
  duration: Percentiles;
  /** Times from `scheduledFor` to the start of the delivery. */
  wait: Percentiles;
  /** Jobs published in the bucket; null if they were not counted. */
  published: number | null;
}

/**
 * Returns every point of the grid, including those without attempts.
 * @param published jobs by bucket of the grid, if they were counted
 */
export function timelineOf(
  grid: TimelineGrid,
  rows: readonly (AttemptTotals & { at: number })[],
  published?: readonly number[],
): TimelinePoint[] {
  const parts = Array.from({ length: grid.count }, (): AttemptTotals[] => []);
  for (const row of rows) parts[Math.floor((row.at - grid.startMs) / grid.bucketMs)]?.push(row);
  return parts.map((part, n) => {
    const { success, failed, nacked, deferred, dead, durations, waits } = sumOf(part);
    return {
      at: new Date(grid.startMs + n * grid.bucketMs),
      success,
      failed,
      nacked,
      deferred,
      dead,
      duration: percentilesOf(durations),
      wait: percentilesOf(waits),
      published: published === undefined ? null : (published[n] ?? 0),
    };
  });
}

const HOUR_MS = 3_600_000;

/** Whether the statistics of the last hour contain the whole chart, so that no others need to be read. */
export function isOfLastHour({ from, bucketSeconds }: TimelineInput, nowMs: number): boolean {
  const bucketMs = STATS_BUCKET_SECONDS * 1000;
  if (!(bucketSeconds > 0) || bucketSeconds % STATS_BUCKET_SECONDS !== 0) return false;
  const startMs = Math.floor(from.getTime() / (bucketSeconds * 1000)) * bucketSeconds * 1000;
  // The database may begin a bucket later: its clock is ahead of what this process knows of it.
  return startMs > Math.floor((nowMs - HOUR_MS) / bucketMs) * bucketMs;
}
