import { type JobferryError, unavailable } from '../../domain/errors.ts';
import { firstIdAt } from '../../domain/id.ts';
import type { Database, Statement } from '../connection/database.ts';
import { maxOf, minOf } from '../search/scan.ts';
import type { IdRange } from '../search/statements.ts';

/**
 * How many jobs a queue has, exactly, at any size. Jobs that were created some minutes ago become neither more, nor
 * fewer before their retention ends, so a process counts such a span once and remembers the number.
 */

/** Span of a remembered count. */
const SPAN_MS = 600_000;
/** A younger span may get jobs whose transactions have yet to end; so may one that such a transaction was there for. */
const OPEN_MS = 300_000;
const MAX_QUEUES = 500;
const MAX_SPANS = 5000;
/** What was counted until then is remembered, so the next call goes on from there. */
const MAX_COUNT_MS = 8000;
const TARGET_MS = 300;

interface Remembered {
  /** Database time when they were counted last. */
  at: number;
  /** By number of the span since the epoch. */
  spans: Map<number, number>;
}

/** By pool: those who read in the turn of an account share it. */
const remembered = new WeakMap<Database['pool'], Map<string, Remembered>>();

/** Jobs with an id in a range. */
export interface CountedRange extends IdRange {
  jobs: number;
}

const CLOCK: Statement = {
  name: 'oldest-writer',
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
 * @throws JobferryError `unavailable` when that takes too long; asked again, it has less left to do
 */
export async function countJobsOfQueue(db: Database, queueId: string, bounds: IdRange): Promise<CountedRange[]> {
  const clock = await db.one<{ now: Date; oldestMs: number }>(CLOCK);
  if (clock === null) throw new Error('the clock always answers');
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

/** The spans that the bounds cover, newest first; the newest one has no end, for ids of the moment. */
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

/** What the process remembers of a queue; nothing when the database's clock went back, for then the past changes. */
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
