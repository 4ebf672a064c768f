import type { Database, Statement } from '../connection/database.ts';
import { OPERATORS_ACCOUNT } from '../operator-account.ts';

/** How far background work is behind, in seconds. */
export interface ServiceLags {
  /** Age of the oldest job whose payload is not yet in the search index; null if all are. */
  searchSeconds: number | null;
  /** Time since which ended attempts are not yet in the statistics; 0 if there is no job that could have one. */
  statisticsSeconds: number;
  /** Time since which the oldest wake-up has been due; null if none is. */
  wakeUpSeconds: number | null;
}

/**
 * @param retention SQL: the retention as an interval
 * @returns SQL: the lags at `clock.now`. No attempt is older than the oldest job, so before the first roll-up the
 *   statistics are not late since the begin of the retention. Reads one row of each index, and all wake-ups, of which
 *   graphile-worker has no index by time alone.
 */
export function lagColumns(retention: string): string {
  return `
    (select extract(epoch from now - jobferry_created_at(j.id)) from job j
      where j.id > (select coalesce(max(position), '') from follower where name = 'search')
      order by j.id limit 1)::float8 as "searchSeconds",
    coalesce((select extract(epoch from now - greatest(jobferry_stats_until(${retention}), jobferry_created_at(j.id)))
                from job j where j.id > (select coalesce(max(position), '') from follower where name = 'sweep-jobs-front')
               order by j.id limit 1), 0)::float8 as "statisticsSeconds",
    (select extract(epoch from now - w.run_at) from graphile_worker.jobs w
      where w.run_at < now and w.locked_at is null order by w.run_at limit 1)::float8 as "wakeUpSeconds"`;
}

// Returns nothing to another account than the operator's.
const LAGS: Statement = {
  name: 'service-lags',
  text: `
    with clock as materialized (select jobferry_now() as now)
    select ${lagColumns(`$1 * interval '1 ms'`)}
      from clock where $2 = ${OPERATORS_ACCOUNT}`,
};

/**
 * The lags show the load of all accounts, so only the operator's account receives them.
 * @returns null for other accounts
 */
export async function serviceLags(db: Database, accountId: string, retentionMs: number): Promise<ServiceLags | null> {
  const row = await db.one<ServiceLags & Record<string, unknown>>(LAGS, [retentionMs, accountId]);
  if (row === null) return null;
  const { searchSeconds, statisticsSeconds, wakeUpSeconds } = row;
  return { searchSeconds, statisticsSeconds: Math.max(statisticsSeconds, 0), wakeUpSeconds };
}
