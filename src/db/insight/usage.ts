import type { Database, Statement } from '../connection/database.ts';

// `in_flight` includes deliveries of deleted queues: they may finish, and they use capacity.
const USAGE: Statement = {
  name: 'account-usage',
  text: `
    with clock as materialized (select jobferry_month(jobferry_now()) as month), own as materialized (
      select id, concurrency, deleted_at is null as live from queue where account_id = $1
    )
    select clock.month, coalesce(u.attempts, 0) as attempts,
           (select coalesce(sum(f.n), 0) from own cross join lateral (
              select count(*) as n from job j
               where j.queue_id = own.id and j.status in ('processing', 'awaiting_ack')) f)::integer as in_flight,
           (select coalesce(sum(concurrency), 0) from own where live)::integer as concurrency,
           (select count(*) from own where live) as queues
      from clock left join usage u on u.account_id = $1 and u.month = clock.month`,
};

interface UsageRow {
  /** Month in UTC, YYYY-MM. */
  month: string;
  attempts: number;
  in_flight: number;
  concurrency: number;
  queues: number;
}

/** @returns what an account uses now, and its attempts of this month */
export async function accountUsage(db: Database, accountId: string): Promise<UsageRow> {
  const row = await db.one<UsageRow>(USAGE, [accountId]);
  if (row === null) throw new Error('the usage of an account returned no row');
  return row;
}

const LIMIT_REACHED: Statement = {
  name: 'bulk-limit-reached',
  text: 'select jobferry_limit_reached($1, $2, jobferry_now()) as reached',
};

/**
 * Whether the plan's attempts of this month are used up.
 * @param limit the plan's monthly attempts, or null
 */
export async function isLimitReached(db: Database, accountId: string, limit: number | null): Promise<boolean> {
  return (await db.one<{ reached: boolean }>(LIMIT_REACHED, [accountId, limit]))?.reached ?? false;
}
