import type { Database, Statement } from '../connection/database.ts';

const SINCE_FAILURES: Statement = {
  name: 'since-failures',
  text: `
    select f.queue_id as id, f.failed_at as at, f.succeeded
      from jobferry_since_failures(jobferry_stats_until($3 * interval '1 ms'),
                                   array(select id from queue where id = any ($1) and account_id = $2)) f`,
};

/** The last failure of a queue, and what came after it. */
export interface SinceFailure {
  at: Date;
  /** Attempts that have succeeded since. */
  succeeded: number;
}

/** Returns the last failures of queues of an account; queues without one in the last hour are left out. */
export async function sinceFailures(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  retentionMs: number,
): Promise<Map<string, SinceFailure>> {
  const values = [queueIds, accountId, retentionMs];
  const rows = await db.query<SinceFailure & { id: string }>(SINCE_FAILURES, values);
  return new Map(rows.map(({ id, at, succeeded }) => [id, { at, succeeded }]));
}
