import type { Histogram } from '../../domain/histogram.ts';
import type { AttemptTotals, TimelineGrid } from '../../domain/statistics.ts';
import type { Database, Statement } from '../connection/database.ts';

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
interface StatsRow extends AttemptTotals {
  /** Start of the span, in milliseconds. */
  at: number;
}

type Part = [at: number, totals: number[], durations: Histogram, waits: Histogram];

/**
 * SQL: the rows of statistics of queues, as `part`, with the attempts that the statistics do not contain yet. $1: ids of queues,
 * $2: account, $3: retention, $4 and $5: the range; null for the last hour.
 */
const PARTS = `
    with own as materialized (
      select id from queue where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), span as materialized (
      select greatest(coalesce(jobferry_bucket($4::timestamptz), jobferry_bucket(now - interval '1 hour')),
                      jobferry_bucket(now - $3 * interval '1 ms')) as first,
             coalesce($5::timestamptz, 'infinity') as last,
             jobferry_stats_until($3 * interval '1 ms') as until
        from (select jobferry_now() as now) clock
    ), part as (
      -- Compared together, so that no plan uses the index over all queues.
      select s.* from span cross join own
        join queue_stats s on (s.queue_id, s.bucket) >= (own.id, span.first) and (s.queue_id, s.bucket) < (own.id, span.last)
      union all
      select s.* from span, jobferry_attempt_stats(greatest(until, first), last, array(select id from own)) s
    )`;

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
const STATS: Statement = {
  name: 'queue-stats',
  text: `${PARTS}
    select own.id, parts.list as parts
      from own left join (
        select p.queue_id, json_agg(json_build_array(
                 extract(epoch from p.bucket) * 1000, json_build_array(${TOTALS}), p.durations, p.waits)) as list
          from part p group by p.queue_id) parts on parts.queue_id = own.id`,
};

/** @returns statistics of those of the queues that are live and belong to the account; without a range, of the last hour */
export async function queueStats(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  range: { from: Date; to: Date } | null,
  retentionMs: number,
): Promise<Map<string, StatsRow[]>> {
  const values = [queueIds, accountId, retentionMs, range?.from ?? null, range?.to ?? null];
  const rows = await db.query<{ id: string; parts: Part[] | null }>(STATS, values);
  return new Map(rows.map(({ id, parts }) => [id, (parts ?? []).map(toRow)]));
}

/** Counts of a histogram that are not 0, by the number of their element from 1 on. */
type Sparse = [element: number, count: number][];

// A thousand queues have hundreds of thousands of rows a day. The database adds them up, so that the process reads one row
// for each point of a chart.
const TOTAL_STATS: Statement = {
  name: 'total-stats',
  text: `${PARTS}, numbered as materialized (
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
