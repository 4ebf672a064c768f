import type { Database } from '../../src/db/connection/database.ts';
import { waitFor } from './wait-for.ts';

/** Rows that real deliveries would take long to create, and the rows that bulk actions leave. */

export interface DeadLetterColumns {
  reason?: string;
  error?: string;
  code?: number | null;
  payload?: string;
}

/** Dead letters of a queue, made in one statement; returns their ids, oldest first. */
export async function insertDeadLetters(
  db: Database,
  queueId: string,
  count: number,
  { reason = 'attempts_exhausted', error = 'HTTP 500', code = 500, payload = '{}' }: DeadLetterColumns = {},
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `with died as (
       insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                        scheduled_for, deliver_by, created_at, last_error, dead_reason)
       select jobferry_id(), q.account_id, q.id, 'dead', 3, 3, 'fixed', 0, $6,
              jobferry_now(), jobferry_now() + interval '1 day', jobferry_now(), $4, $3
         from queue q, generate_series(1, $2::integer) where q.id = $1
       returning id
     )
     insert into dead_letter (job_id, queue_id, reason, error, webhook_status_code, fingerprint, dead_at)
     select id, $1, $3, $4, $5, jobferry_fingerprint($3, $5, $4), jobferry_now() from died
     returning id`,
    [queueId, count, reason, error, code, payload],
  );
  return rows.map((row) => row.id).sort();
}

export interface BulkRow {
  queue_id: string | null;
  kind: string;
  status: string;
  selection: unknown;
  rate_per_second: number | null;
  canary_job_id: string | null;
  matched: number;
  processed: number;
  succeeded: number;
  skipped: number;
  error: string | null;
  requested_by: string;
  finished_at: Date | null;
}

export async function bulkRow(db: Database, actionId: string): Promise<BulkRow> {
  const row = await db.one<BulkRow>(
    `select queue_id, kind, status, selection, rate_per_second, canary_job_id, matched, processed, succeeded, skipped,
            error, requested_by, finished_at
       from bulk_action where id = $1`,
    [actionId],
  );
  if (row === null) throw new Error(`there is no bulk action ${actionId}`);
  return row;
}

/** Waits until an action has ended, and returns it. */
export function bulkEnded(db: Database, actionId: string, timeoutMs = 20_000): Promise<BulkRow> {
  let last: BulkRow | undefined;
  const ended = async () => {
    last = await bulkRow(db, actionId);
    return last.status === 'running' ? null : last;
  };
  return waitFor(ended, { timeoutMs, message: 'the end of the bulk action' }).catch((error: unknown) => {
    throw new Error(`${String(error)}; the action is ${JSON.stringify(last)}`);
  });
}

/** Jobs that dead letters of a queue became. */
export async function replaysOf(db: Database, queueId: string): Promise<{ id: string; of: string; created: number }[]> {
  return db.query(
    `select id, replay_of as of, (extract(epoch from created_at) * 1000)::float8 as created
       from job where queue_id = $1 and replay_of is not null order by id`,
    [queueId],
  );
}
