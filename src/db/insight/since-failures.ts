import type { Database, Statement } from '../connection/database.ts';

/**
 * SQL: why an attempt of a queue failed that ended at a moment. The BRIN index has the few pages of a moment. What a
 * worker wrote as the reason of a nack is not read.
 */
export function causeAt(queueId: string, at: string): string {
  return `
    select case when a.status <> 'nacked' then a.error end as error, a.webhook_status_code as code from attempt a
     where a."timestamp" = ${at} and a.queue_id = ${queueId}
       and (a.status in ('failed', 'nacked')
            or a.status = 'deferred' and coalesce(a.webhook_status_code not between 200 and 299, true))
     limit 1`;
}

const SINCE_FAILURES: Statement = {
  name: 'since-failures',
  text: `
    select f.queue_id as id, f.failed_at as at, f.succeeded, cause.error, cause.code as "webhookStatusCode"
      from jobferry_since_failures(jobferry_stats_until($3 * interval '1 ms'),
                                   array(select id from queue where id = any ($1) and account_id = $2)) f
      left join lateral (${causeAt('f.queue_id', 'f.failed_at')}) cause on true`,
};

/** The last failure of a queue, and what came after it. */
export interface SinceFailure {
  at: Date;
  /** Attempts that have succeeded since. */
  succeeded: number;
  /** Why the attempt failed; null for a nack, and if the attempt is no longer there. */
  error: string | null;
  webhookStatusCode: number | null;
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
  return new Map(rows.map(({ id, ...failure }) => [id, failure]));
}

// The statistics function reads the attempts after a moment up to the end of its five minutes,
// so each receiver costs at most these.
const SUCCEEDED_WITHIN: Statement = {
  name: 'succeeded-within-span',
  text: `
    select coalesce(sum(s.success), 0)::integer as succeeded
      from jobferry_attempt_stats($3::timestamptz + interval '1 ms', jobferry_bucket($3::timestamptz) + interval '300 s',
                                  array(select id from queue where id = any ($1) and account_id = $2)) s`,
};

/**
 * Returns how many attempts of queues of an account succeeded after the moment,
 * in the five minutes of the statistics that it is in.
 */
export async function succeededWithinSpan(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
  after: Date,
): Promise<number> {
  const row = await db.one<{ succeeded: number }>(SUCCEEDED_WITHIN, [queueIds, accountId, after]);
  return row?.succeeded ?? 0;
}
