import type { Histogram } from '../../domain/histogram.ts';
import type { AttemptTotals } from '../../domain/statistics.ts';
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

// Combines the statistics with the attempts that they do not contain yet. The parts of a queue are one JSON value, which
// is parsed in native code. The driver would parse arrays character by character (docs/decisions/0002).
export const STATISTICS: PartOfStatement = {
  with: (value) => [
    `span as materialized (
      select greatest(coalesce(jobferry_bucket(${value('from')}::timestamptz), jobferry_bucket(now - interval '1 hour')),
                      jobferry_bucket(now - ${value('retentionMs')} * interval '1 ms')) as first,
             coalesce(${value('to')}::timestamptz, 'infinity') as last,
             jobferry_stats_until(${value('retentionMs')} * interval '1 ms') as until
        from clock
    )`,
    `part as (
      -- Compared together, so that no plan uses the index over all queues.
      select s.* from span cross join own
        join queue_stats s on (s.queue_id, s.bucket) >= (own.id, span.first) and (s.queue_id, s.bucket) < (own.id, span.last)
      union all
      select s.* from span, jobferry_attempt_stats(greatest(until, first), last, array(select id from own)) s
    )`,
    `parts as materialized (
      select p.queue_id, json_agg(json_build_array(
               extract(epoch from p.bucket) * 1000,
               json_build_array(success, failed, nacked, deferred, dead, answered_2xx, answered_3xx, answered_4xx,
                                answered_5xx, unauthorized, backpressure, unanswered),
               p.durations, p.waits)) as list
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
