import type { Histogram } from '../../domain/histogram.ts';
import type { AttemptTotals, TimelineGrid } from '../../domain/statistics.ts';
import type { Database, Statement } from '../connection/database.ts';
import type { PartOfStatement } from './queue-parts.ts';

const ROLL_UP: Statement = {
  name: 'roll-up',
  text: `select jobferry_roll_up($1 * interval '1 ms') as more`,
};

/** Adds the attempts since the last run to the statistics. Any process may call it. @returns true when more is left */
export async function rollUp(db: Database, retentionMs: number): Promise<boolean> {
  return (await db.one<{ more: boolean }>(ROLL_UP, [retentionMs]))?.more ?? false;
}

const INDEX_ATTEMPTS: Statement = { name: 'index-attempts', text: 'select jobferry_index_attempts()' };

/** Summarises new pages of the BRIN index on `attempt.timestamp`, so that queries for recent attempts stay cheap. */
export async function indexAttempts(db: Database): Promise<void> {
  await db.query(INDEX_ATTEMPTS);
}

/** Statistics of one queue in one span of five minutes. A span may come in two rows. */
export interface StatsRow extends AttemptTotals {
  /** Start of the span, in milliseconds. */
  at: number;
}

type Part = [at: number, totals: number[], durations: Histogram, waits: Histogram];

/**
 * SQL: `part`, the rows of statistics of the queues `own`, with the attempts that the statistics do not contain yet.
 */
const partsOf = (value: (name: 'from' | 'to' | 'retentionMs') => string): string[] => [
  `span as materialized (
      select greatest(coalesce(jobferry_bucket(${value('from')}::timestamptz), jobferry_bucket(now - interval '1 hour')),
                      jobferry_bucket(now - ${value('retentionMs')} * interval '1 ms')) as first,
             coalesce(${value('to')}::timestamptz, 'infinity') as last,
             jobferry_stats_until(${value('retentionMs')} * interval '1 ms') as until
        from clock
    )`,
  `part as (
      -- Compared together, so that no plan uses the index over all queues; and each by itself, so that none compares
      -- each row
      -- of all accounts with each queue.
      select s.* from span cross join own
        join queue_stats s on s.queue_id = own.id
                          and (s.queue_id, s.bucket) >= (own.id, span.first) and (s.queue_id, s.bucket) < (own.id, span.last)
      union all
      select s.* from span, jobferry_attempt_stats(greatest(until, first), last, array(select id from own)) s
    )`,
];

/** Columns in the order in which `toRow` reads them. */
const TOTALS = [
  'success',
  'failed',
  'nacked',
  'deferred',
  'dead',
  'answered_2xx',
  'answered_3xx',
  'answered_4xx',
  'answered_5xx',
  'unauthorized',
  'backpressure',
  'unanswered',
];

// The parts of a queue are one JSON value, which is parsed in native code. The driver would parse arrays character by
// character (docs/decisions/0002).
export const STATISTICS: PartOfStatement = {
  with: (value) => [
    ...partsOf(value),
    `parts as materialized (
      select p.queue_id, json_agg(json_build_array(
               extract(epoch from p.bucket) * 1000, json_build_array(${TOTALS}), p.durations, p.waits)) as list
        from part p group by p.queue_id
    )`,
  ],
  join: () => 'left join parts on parts.queue_id = own.id',
  columns: 'parts.list as attempts',
};

/** The column of the part; null for a queue without attempts. */
export type StatisticsColumn = Part[] | null;

export function toStatsRows(parts: StatisticsColumn): StatsRow[] {
  return (parts ?? []).map(toRow);
}

/** Counts of a histogram that are not 0, by the number of their element from 1 on. */
type Sparse = [element: number, count: number][];

// A thousand queues have hundreds of thousands of rows a day. The database adds them up, so that the process reads one
// row for each point of a chart.
const TOTAL_VALUES = { retentionMs: '$3', from: '$4', to: '$5' };
const TOTAL_STATS: Statement = {
  name: 'total-stats',
  text: `
    with clock as materialized (
      select jobferry_now() as now
    ), own as materialized (
      select id from queue where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), ${partsOf((name) => TOTAL_VALUES[name]).join(', ')}, numbered as materialized (
      select floor((extract(epoch from bucket) * 1000 - $6::float8) / $7::float8)::integer as n, part.* from part
    ), measured as (
      select n, element, sum(count) as duration, null::bigint as wait
        from numbered, unnest(durations) with ordinality as m(count, element) where count > 0 group by n, element
       union all
      select n, element, null, sum(count)
        from numbered, unnest(waits) with ordinality as m(count, element) where count > 0 group by n, element
    ), histograms as materialized (
      select n, json_agg(json_build_array(element, duration)) filter (where duration is not null) as durations,
             json_agg(json_build_array(element, wait)) filter (where wait is not null) as waits
        from measured group by n
    )
    select t.*, h.durations, h.waits
      from (select n, json_build_array(${TOTALS.map((total) => `sum(${total})`)}) as totals from numbered group by n) t
      left join histograms h on h.n = t.n`,
};

/** @returns the statistics of the queues together, one row for each span of the grid with attempts */
export async function totalStats(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  { startMs, bucketMs, count }: TimelineGrid,
  retentionMs: number,
): Promise<StatsRow[]> {
  const range = [new Date(startMs), new Date(startMs + count * bucketMs)];
  const values = [queueIds, accountId, retentionMs, ...range, startMs, bucketMs];
  const rows = await db.query<{ n: number; totals: number[]; durations: Sparse | null; waits: Sparse | null }>(
    TOTAL_STATS,
    values,
  );
  return rows.map(({ n, totals, durations, waits }) =>
    toRow([startMs + n * bucketMs, totals, toHistogram(durations), toHistogram(waits)]),
  );
}

function toHistogram(sparse: Sparse | null): Histogram {
  const counts: number[] = [];
  for (const [element, count] of sparse ?? []) {
    while (counts.length < element) counts.push(0);
    counts[element - 1] = count;
  }
  return counts;
}

function toRow([at, totals, durations, waits]: Part): StatsRow {
  const [success = 0, failed = 0, nacked = 0, deferred = 0, dead = 0, ...answers] = totals;
  const [answered2xx = 0, answered3xx = 0, answered4xx = 0, answered5xx = 0, ...others] = answers;
  const [unauthorized = 0, backpressure = 0, unanswered = 0] = others;
  return {
    at,
    success,
    failed,
    nacked,
    deferred,
    dead,
    answered2xx,
    answered3xx,
    answered4xx,
    answered5xx,
    unauthorized,
    backpressure,
    unanswered,
    durations,
    waits,
  };
}
