import type pg from 'pg';
import type { TestQueue } from '../../test/support/database-fixture.ts';

/** More rows than the twenty calls of a case remove, so that each call finds a full batch before more rows. */
export const ROWS_TO_DELETE = 12_000;
/** Rows of the kinds of which an account may have few. */
const FEW = 100;

export const ACTION_TO_DELETE = '3'.repeat(24);

/** Rows of the account `a`. */
const SOME: readonly string[] = [
  `dismissal (account_id, fingerprint, until, dismissed_by) select a.id, lpad(to_hex(n), 16, '0'), jobferry_now(), 'test'`,
  `member (account_id, issuer, subject, role, may_view_payloads) select a.id, 'i', 's' || n, 'viewer', true`,
  `api_key (account_id, hash, prefix, last_four) select a.id, encode(sha256(('key to delete ' || n)::bytea), 'hex'), 'jf_' || n, 'last'`,
  `alert_rule (id, account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
   select 'd' || lpad(to_hex(n % ${FEW}), 23, '0'), a.id, 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 's'`,
];

/** Rows of the account `a` and of its queue `q`. */
const MANY: readonly string[] = [
  `queue_stats (queue_id, bucket) select q.id, jobferry_now() - n * interval '10 s'`,
  `queue_completed (queue_id, created_bucket) select q.id, jobferry_now() - n * interval '10 s'`,
  // Documents of jobs that are gone, as a process writes them that was indexing when the jobs were removed.
  `job_search (job_id, queue_id, doc) select 'e' || lpad(to_hex(n), 23, '0'), q.id, '{}'`,
  `bulk_action_job (job_id, action_id) select 'e' || lpad(to_hex(n), 23, '0'), '${ACTION_TO_DELETE}'`,
  `bulk_action (id, account_id, kind, status, selection, matched, requested_by, finished_at)
   select case n when 1 then '${ACTION_TO_DELETE}' else jobferry_id() end, a.id, 'cancel_jobs', 'completed', '{}', 1, 'test', jobferry_now()`,
  `audit_entry (account_id, actor_type, actor_label, action, target_type, target_id)
   select a.id, 'operator', 'test', 'queue.update', 'queue', q.id`,
  `alert (account_id, rule_id, state, since, fired_at, resolved_at, resolution, value, cause)
   select a.id, 'd' || lpad(to_hex(n % ${FEW}), 23, '0'), 'resolved', jobferry_now(), jobferry_now(), jobferry_now(), 'over', 1, 'test'`,
  `alert_notification (account_id, rule_id, content, next_at, sent_at)
   select a.id, 'd' || lpad(to_hex(n % ${FEW}), 23, '0'), '{}', null, jobferry_now()`,
];

/**
 * An account with so many rows that a batch which reads all of a kind shows.
 * @param like id of the queue that its queues resemble
 */
export async function insertAccountToDelete(
  db: pg.Client,
  like: string,
): Promise<{ accountId: string; queue: TestQueue }> {
  const name = 'to delete';
  const { rows } = await db.query<{ id: string }>(`insert into account (name, plan) values ($1, 'pro') returning id`, [
    name,
  ]);
  const accountId = rows[0]?.id ?? '';
  await db.query(
    `insert into queue
     select r.* from queue q, generate_series(1, ${ROWS_TO_DELETE}) n,
       lateral jsonb_populate_record(q, jsonb_build_object('id', jobferry_id(), 'account_id', $2::text, 'name', 'queue-' || n)) r
      where q.id = $1`,
    [like, accountId],
  );
  // The jobs are in the last one, so that the removal of emptied queues always finds others.
  const last = await db.query<TestQueue>('select id, name from queue where account_id = $1 order by id desc limit 1', [
    accountId,
  ]);
  const [queue] = last.rows;
  if (queue === undefined) throw new Error('no queue');
  for (const [texts, count] of [
    [SOME, FEW],
    [MANY, ROWS_TO_DELETE],
  ] as const) {
    for (const text of texts) {
      await db.query(
        `insert into ${text} from (select $1::text as id) a, (select $2::text as id) q, generate_series(1, ${count}) n`,
        [accountId, queue.id],
      );
    }
  }
  return { accountId, queue };
}
