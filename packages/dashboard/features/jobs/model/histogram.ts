import type { JobFilter, JobsFilter } from '../../../../query/filter/jobs.ts';
import { resolveBound } from '../../../../query/filter/time-bound.ts';

/** The time range of the histogram of a list of jobs: of the filter's `created:`, else what is kept. */
interface HistogramRange {
  /** Milliseconds; a multiple of the bucket. */
  from: number;
  to: number;
  bucketSeconds: number;
}

const BUCKETS = 48;
/** The server's shortest bucket, of which every bucket is a multiple. */
const STEP_SECONDS = 300;
const DAY_MS = 86_400_000;
const STEPS_A_DAY = DAY_MS / 1000 / STEP_SECONDS;

export function histogramRange(filter: JobsFilter, now: number, retentionSeconds: number): HistogramRange {
  const range = filter.find((chip) => chip.word === 'created')?.value ?? { from: null, to: null };
  const to = Math.min(now, range.to === null ? now : resolveBound(range.to, 'to', now));
  const kept = to - retentionSeconds * 1000;
  const from = Math.max(
    kept,
    range.from === null ? (range.to === null ? to - DAY_MS : kept) : resolveBound(range.from, 'from', now),
  );
  const seconds = Math.max(1, (to - from) / 1000 / BUCKETS);
  let steps = Math.ceil(seconds / STEP_SECONDS);
  // Bars divide a day, or are whole days, so that those of yesterday begin at the same times.
  while (STEPS_A_DAY % steps !== 0 && steps % STEPS_A_DAY !== 0) steps += 1;
  const bucketSeconds = steps * STEP_SECONDS;
  const bucketMs = bucketSeconds * 1000;
  return { from: Math.floor(Math.min(from, to - bucketMs) / bucketMs) * bucketMs, to, bucketSeconds };
}

/** The filter at an earlier time: its span of publishes is moved, and all else is as it is. */
export function filterThen({ created, ...filter }: JobFilter, ms: number): JobFilter {
  const moved = (at: string | null | undefined) => (at == null ? null : new Date(Date.parse(at) - ms).toISOString());
  return created == null ? filter : { ...filter, created: { from: moved(created.from), to: moved(created.to) } };
}

/**
 * The part of a brushed range that lies within the filter's: the first bar may begin before it, the last one end after
 * it. Times are in RFC 3339.
 */
export function brushedRange(
  { from, to }: { from: string; to: string },
  within?: JobFilter['created'],
): { from: string; to: string } {
  const [first, last] = [within?.from ?? from, within?.to ?? to];
  return {
    from: Date.parse(first) > Date.parse(from) ? first : from,
    to: Date.parse(last) < Date.parse(to) ? last : to,
  };
}
