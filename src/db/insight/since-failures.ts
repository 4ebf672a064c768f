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

// The statistics function reads the attempts after a moment up to the end of its five minutes, so each receiver costs at most these.
const SUCCEEDED_WITHIN: Statement = {
  name: 'succeeded-within-span',
  text: `
    select coalesce(sum(s.success), 0)::integer as succeeded
      from jobferry_attempt_stats($3::timestamptz + interval '1 ms', jobferry_bucket($3::timestamptz) + interval '300 s',
                                  array(select id from queue where id = any ($1) and account_id = $2)) s`,
};

/** Returns how many attempts of queues of an account succeeded after the moment, in the five minutes of the statistics that it is in. */
export async function succeededWithinSpan(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  after: Date,
): Promise<number> {
  const row = await db.one<{ succeeded: number }>(SUCCEEDED_WITHIN, [queueIds, accountId, after]);
  return row?.succeeded ?? 0;
}
