import type { Database, Statement } from '../connection/database.ts';

/** How far background work is behind, in seconds. */
export interface ServiceLags {
  /** Age of the oldest job whose payload is not yet in the search index; null if all are. */
  searchSeconds: number | null;
  /** Time since which ended attempts are not yet in the statistics. */
  statisticsSeconds: number;
  /** Time since which the oldest wake-up has been due; null if none is. */
  wakeUpSeconds: number | null;
}

// Reads one row of each index.
const LAGS: Statement = {
  name: 'service-lags',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select (select extract(epoch from now - jobferry_created_at(j.id)) from job j
             where j.id > (select coalesce(max(position), '') from follower where name = 'search')
             order by j.id limit 1)::float8 as "searchSeconds",
           extract(epoch from now - jobferry_stats_until($1 * interval '1 ms'))::float8 as "statisticsSeconds",
           (select extract(epoch from now - w.run_at) from graphile_worker.jobs w
             where w.run_at < now and w.locked_at is null order by w.run_at limit 1)::float8 as "wakeUpSeconds"
      from clock`,
};

export async function serviceLags(db: Database, retentionMs: number): Promise<ServiceLags> {
  const row = await db.one<ServiceLags & Record<string, unknown>>(LAGS, [retentionMs]);
  if (row === null) throw new Error('the statement of lags returned no row');
  const { searchSeconds, statisticsSeconds, wakeUpSeconds } = row;
  return { searchSeconds, statisticsSeconds: Math.max(statisticsSeconds, 0), wakeUpSeconds };
}
