import { type JobferryError, unavailable } from '../../domain/errors.ts';
import { firstIdAt } from '../../domain/id.ts';
import type { Database, Statement } from '../connection/database.ts';
import { maxOf, minOf } from '../search/scan.ts';
import type { IdRange } from '../search/statements.ts';

/**
 * Counts the jobs of a queue exactly, at any size. The number of jobs in a time span that ended some minutes ago does
 * not change until their retention ends. So a process counts such a span once and caches the number.
 */

/** Length of a cached span. */
const SPAN_MS = 600_000;
/**
 * A younger span may still get jobs from open transactions. So may a span that is younger than the oldest transaction.
 */
const OPEN_MS = 300_000;
const MAX_QUEUES = 500;
const MAX_SPANS = 5000;
/** Time limit of a call. Spans counted until then are cached, so the next call continues there. */
const MAX_COUNT_MS = 8000;
const TARGET_MS = 300;

interface Remembered {
  /** Database time of the last count. */
  at: number;
  /** Counts by number of the span since the epoch. */
  spans: Map<number, number>;
}

/** By pool, because the `Database` objects of all accounts share the pool. */
const remembered = new WeakMap<Database['pool'], Map<string, Remembered>>();

/** Jobs with an id in a range. */
export interface CountedRange extends IdRange {
  jobs: number;
}

const CLOCK: Statement = {
  name: 'oldest-writer',
  onPrimary: true,
  text: `
    select jobferry_now() as now,
           coalesce((select max(extract(epoch from clock_timestamp() - xact_start)) * 1000 from pg_stat_activity
                      where datname = current_database() and backend_xid is not null), 0)::float8 as "oldestMs"`,
};

const COUNT: Statement = {
  name: 'count-jobs-in-ranges',
  text: `
    select (select count(*) from job where (queue_id, id) >= ($1, r.lower) and (queue_id, id) < ($1, r.upper)) as jobs
      from unnest($2::text[], $3::text[]) with ordinality as r(lower, upper, n) order by r.n`,
};

/**
 * Counts the jobs of a queue in parts, newest first.
 * @throws JobferryError `unavailable` when it takes too long; a second call has less left to count
 */
export async function countJobsOfQueue(db: Database, queueId: string, bounds: IdRange): Promise<CountedRange[]> {
  const clock = await db.one<{ now: Date; oldestMs: number }>(CLOCK);
  if (clock === null) throw new Error('the clock returned no row');
  const now = clock.now.getTime();
  const closedBefore = Math.floor((now - Math.max(OPEN_MS, clock.oldestMs + SPAN_MS)) / SPAN_MS);
  const known = recall(db, queueId, now);
  const ranges = rangesOf(bounds, now);
  const endsAt = performance.now() + MAX_COUNT_MS;
  const counted: CountedRange[] = [];
  let size = 4;
  while (counted.length < ranges.length) {
    const range = ranges[counted.length] as SpanRange;
    const memory = range.isWhole ? known.spans.get(range.span) : undefined;
    if (memory !== undefined) {
      counted.push({ ...range, jobs: memory });
      continue;
    }
    if (performance.now() > endsAt) throw tooMany();
    const batch = ranges.slice(counted.length, counted.length + size);
    const startedAt = performance.now();
    const rows = await db.query<{ jobs: number }>(COUNT, [
      queueId,
      batch.map(({ from }) => from),
      batch.map(({ below }) => below),
    ]);
    for (const [index, part] of batch.entries()) {
      const jobs = rows[index]?.jobs ?? 0;
      counted.push({ ...part, jobs });
      if (part.isWhole && part.span < closedBefore) known.spans.set(part.span, jobs);
    }
    size = Math.min(Math.max(Math.round((size * TARGET_MS) / (performance.now() - startedAt)), 1), size * 8);
  }
  return counted;
}

interface SpanRange extends IdRange {
  span: number;
  isWhole: boolean;
}

/** @returns the spans that the bounds cover, newest first; the newest has no end, so that it includes present ids */
function rangesOf({ from, below }: IdRange, now: number): SpanRange[] {
  const first = Math.floor(millisecondsOf(from) / SPAN_MS);
  const last = Math.floor(Math.min(now, millisecondsOf(below)) / SPAN_MS);
  const ranges: SpanRange[] = [];
  for (let span = last; span >= first; span -= 1) {
    const start = firstIdAt(span * SPAN_MS);
    const end = span === last ? below : firstIdAt((span + 1) * SPAN_MS);
    const range = { from: maxOf(start, from), below: minOf(end, below) };
    ranges.push({ ...range, span, isWhole: span < last && range.from === start });
  }
  return ranges;
}

function millisecondsOf(id: string): number {
  const ms = Number.parseInt(id.slice(0, 12), 16);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}

/** @returns the cached counts of a queue; none if the database's clock went back, because the past may then change */
function recall(db: Database, queueId: string, now: number): Remembered {
  const queues = remembered.get(db.pool) ?? new Map<string, Remembered>();
  remembered.set(db.pool, queues);
  let known = queues.get(queueId);
  if (known === undefined || known.at > now) known = { at: now, spans: new Map() };
  known.at = now;
  if (known.spans.size > MAX_SPANS) known.spans.clear();
  queues.delete(queueId);
  queues.set(queueId, known);
  for (const oldest of queues.keys()) {
    if (queues.size <= MAX_QUEUES) break;
    queues.delete(oldest);
  }
  return known;
}

function tooMany(): JobferryError {
  return unavailable('the jobs of the queue are still being counted, try again', 'nothing');
}
