import type { Database, Statement } from '../connection/database.ts';

// As many queues as for the statistics of an account.
const LAST: Statement = {
  name: 'last-attempts',
  text: `
    with own as materialized (
      select id from queue
       where account_id = $2 and deleted_at is null and ($1::text[] is null or id = any ($1)) order by id limit 1000
    )
    select l.queue_id as id, l.ended_at as at
      from jobferry_last_attempts(jobferry_stats_until($3 * interval '1 ms'), array(select id from own),
                                  case when $1 is null then 1 end) l`,
};

/**
 * Returns when the last attempt of queues ended, of those that are live and belong to the account.
 * @param queueIds null for those queues of the account whose last attempt is among the latest
 */
export async function lastAttempts(
  db: Database,
  accountId: string,
  queueIds: readonly string[] | null,
  retentionMs: number,
): Promise<Map<string, Date>> {
  const rows = await db.query<{ id: string; at: Date }>(LAST, [queueIds, accountId, retentionMs]);
  return new Map(rows.map(({ id, at }) => [id, at]));
}
