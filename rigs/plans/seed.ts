import pg from 'pg';
import { ALERT_LIMITS } from '../../src/domain/alert-rule.ts';
import type { Fixture, TestQueue } from '../../test/support/database-fixture.ts';
import { ACTION_TO_DELETE, insertAccountToDelete, ROWS_TO_DELETE } from './account-to-delete.ts';
import { JOBS, type Queues } from './indexed-cases.ts';

/** Objects of other accounts. */
export interface Others {
  /** An account with a few keys and a thousand queues without jobs, which are newer than all others. */
  idle: string;
  /** An account with more rows of each kind than a deletion removes in the calls of a case. */
  deleted: { accountId: string; queue: TestQueue };
}

/** Bulk actions that changed all dead jobs, and ten of them. */
export const LARGE_ACTION = '1'.repeat(24);
export const SMALL_ACTION = '2'.repeat(24);

const BATCH = 50_000;

/** Queues with a million jobs of two days, as a service that has run for long has them. */
export async function seed(fixture: Fixture): Promise<{ queues: Queues; others: Others }> {
  // Not the service's connections: what fills the tables takes longer than a statement may.
  const db = new pg.Client({ connectionString: fixture.db.pool.options.connectionString });
  await db.connect();
  for (const table of ['job', 'attempt', 'dead_letter', 'job_search', 'queue']) {
    await db.query(`alter table ${table} set (autovacuum_enabled = off)`);
  }
  const queues = {
    // Half of all jobs, each with a key.
    completed: await fixture.createQueue(),
    // A fifth, delayed.
    pending: await fixture.createQueue(),
    // A fifth.
    dead: await fixture.createQueue(),
    // The rest, paused since before their retention and lifetime ended, so they are kept.
    paused: await fixture.createQueue(),
    // A few jobs.
    small: await fixture.createQueue(),
  };
  // Statistics know nothing of a queue that came last, and of few of the others.
  for (let n = 0; n < 20; n += 1) await fixture.publishJobs(await fixture.createQueue(), 20);
  await insertJobs(db, queues.completed, JOBS * 0.5, 'completed');
  await insertJobs(db, queues.pending, JOBS * 0.2, 'pending', { due: '12 hours' });
  await insertJobs(db, queues.dead, JOBS * 0.2, 'dead');
  await insertJobs(db, queues.paused, JOBS * 0.1, 'pending', { due: '-20 hours', since: '5 days' });
  const deleted = await insertAccountToDelete(db, queues.small.id);
  await insertJobs(db, deleted.queue, ROWS_TO_DELETE, 'dead');
  await db.query(`update queue set paused_at = jobferry_now() - interval '5 days', paused_by = 'test' where id = $1`, [
    queues.paused.id,
  ]);
  await db.query(`update job set deliver_by = created_at + interval '1 second' where queue_id = $1`, [
    queues.paused.id,
  ]);
  await db.query(`
    insert into dead_letter (id, job_id, queue_id, reason, error, fingerprint, dead_at)
    select jobferry_id(created_at), id, queue_id, 'nacked', 'error ' || (hashtext(id) & 7), '', created_at
      from job where status = 'dead'`);
  await db.query(`
    insert into attempt (job_id, ordinal, queue_id, attempt, status, webhook_status_code, "timestamp")
    select id, 1, queue_id, 1, case when status = 'completed' then 'success' else 'failed' end, 200, created_at
      from job where status in ('completed', 'dead') order by created_at`);
  await db.query(
    `
    insert into job_search (job_id, queue_id, doc)
    select id, queue_id, jsonb_build_object(queue_id, payload::jsonb) from job where queue_id = any ($1)`,
    [[queues.small.id, deleted.queue.id]],
  );
  await db.query(`update follower set position = 'f' where name = 'search'`);
  await db.query(
    `insert into bulk_action_job (job_id, action_id) select id, $2 from job where queue_id = $1
     union all (select id, $3 from job where queue_id = $1 limit 10)
     union all select id, $5 from job where queue_id = $4`,
    [queues.dead.id, LARGE_ACTION, SMALL_ACTION, deleted.queue.id, ACTION_TO_DELETE],
  );
  await db.query(
    `insert into api_key (account_id, hash, prefix, last_four)
     select $1, encode(sha256(n::text::bytea), 'hex'), 'jf_' || n, 'last' from generate_series(1, 100) n`,
    [fixture.accountId],
  );
  await insertWaitingNotifications(db);
  await db.query(
    `insert into api_key (account_id, hash, prefix, last_four)
     select id, encode(sha256((id || n)::bytea), 'hex'), 'jf_' || n, 'last'
       from account, generate_series(1, $1::integer) n where name like 'waiting %'`,
    [JOBS / 1000],
  );
  const idle = await insertIdleQueues(db, queues.small.id);
  await fixture.publishJobs(queues.small, 200);
  await db.query('vacuum analyze');
  await db.end();
  return { queues, others: { idle, deleted } };
}

/** Most accounts have queues, and one has many: what reads the queues of one account must not read those of all. */
async function insertIdleQueues(db: pg.Client, like: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into account (name, plan) values ('idle', 'pro') returning id`,
  );
  const id = rows[0]?.id ?? '';
  await db.query(
    `insert into api_key (account_id, hash, prefix, last_four) select $1, encode(sha256(('idle ' || n)::bytea), 'hex'), 'jf_' || n, 'last' from generate_series(1, 5) n`,
    [id],
  );
  for (const [accounts, count] of [
    [`select id from account where name like 'waiting %'`, 20],
    [`select id from account where name = 'idle'`, 1000],
  ] as const) {
    await db.query(
      `insert into queue
       select r.* from (${accounts}) a, generate_series(1, ${count}) n, queue q,
         lateral jsonb_populate_record(q, jsonb_build_object('id', jobferry_id(), 'account_id', a.id, 'name', 'idle-' || n)) r
        where q.id = $1`,
      [like],
    );
  }
  await db.query(
    `insert into dismissal (account_id, fingerprint, until, dismissed_by)
     select id, lpad(to_hex(n), 16, '0'), jobferry_now(), 'test' from account, generate_series(1, 100) n
      where name like 'waiting %'`,
  );
  await db.query(
    `insert into alert (account_id, rule_id, state, since, fired_at, resolved_at, resolution, value, cause)
     select r.account_id, r.id, 'resolved', jobferry_now(), jobferry_now(), jobferry_now(), 'over', 1, 'test'
       from alert_rule r, generate_series(1, 3) n`,
  );
  // As many wake-ups as there are queues with jobs for later.
  await db.query(
    `select jobferry_wake('deliver', id, jobferry_now() + interval '1 hour') from queue where name like 'idle-%'`,
  );
  return id;
}

/** A hundred accounts whose receivers of alerts do not answer: of each rule as many notifications wait as may. */
async function insertWaitingNotifications(db: pg.Client): Promise<void> {
  await db.query(`
    with accounts as (
      insert into account (name, plan) select 'waiting ' || n, 'free' from generate_series(1, 100) n returning id
    ), rules as (
      insert into alert_rule (account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
      select id, 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 's' from accounts, generate_series(1, ${ALERT_LIMITS.rules})
      returning id, account_id
    )
    insert into alert_notification (account_id, rule_id, content, attempts, next_at)
    select account_id, id, '{}', case n when 1 then 1 else 0 end, jobferry_now() + interval '10 min'
      from rules, generate_series(1, ${ALERT_LIMITS.waitingOfRule}) n`);
}

async function insertJobs(
  db: pg.Client,
  queue: TestQueue,
  count: number,
  status: 'completed' | 'pending' | 'dead',
  { due = '0', since = '2 days' } = {},
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    await db.query(
      `insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, idempotency_key, payload,
                        scheduled_for, deliver_by, created_at, completed_at, dead_reason, attempts, history_count)
       select jobferry_id(at), q.account_id, q.id, $2, 3, 'fixed', 0, 'key-' || n, '{"n":' || n || '}', at + $5::interval,
              at + interval '3 days', at, case when $2 = 'completed' then at end, case when $2 = 'dead' then 'nacked' end, 1,
              case when $2 = 'pending' then 0 else 1 end
         from queue q, (select n, jobferry_now() - $6::interval + n * (interval '1.9 days' / $4::float8) as at
                          from generate_series($3::integer, least($3::integer + ${BATCH} - 1, $4::integer - 1)) n) s
        where q.id = $1`,
      [queue.id, status, from, Math.floor(count), due, since],
    );
  }
}
