import { beforeAll, describe, expect, it } from 'vitest';
import { databaseTime } from '../../src/db/connection/clock.ts';
import {
  beginDeletion,
  type Deletion,
  findReceipt,
  finishDeletion,
  removingQueues,
} from '../../src/db/operator/deletion.ts';
import { sweepQueues } from '../../src/db/retention/sweep.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import { DeletionError, deleteAccount } from '../../src/services/operator/delete-account.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { openCommands } from '../support/operator.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** `account delete` removes all of an account, and nothing of others. */

/** More than two batches. */
const JOBS = 1100;

let op: TestServices;
let database: { db: TestServices['db']; url: string };
let operator: ReturnType<typeof openCommands>;
/** Columns that name an account, a queue or a job, in all tables. */
let columns: { table: string; column: string }[];

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  database = { db: op.db, url };
  operator = openCommands(url);
  await op.db.query(`insert into account (name, plan) values ('operator', 'pro')`);
  columns = await op.db.query(
    `select c.table_name as "table", c.column_name as "column" from information_schema.columns c
       join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
        and c.column_name in ('account_id', 'queue_id', 'job_id')`,
  );
});

/** An account with a row in every table that has rows of accounts. */
async function fullAccount() {
  const made = await op.db.one<{ id: string }>(
    `insert into account (name, plan) values ('tenant', 'pro') returning id`,
  );
  const id = made?.id ?? '';
  const account = { id, name: 'tenant', plan: 'pro', actor: OPERATOR };
  const key = await op.accounts.createApiKey(account, null);
  const queue = await op.queues.create(account, { name: 'all', webhookUrl: 'http://127.0.0.1:9/' });
  const gone = await op.queues.create(account, { name: 'gone', webhookUrl: 'http://127.0.0.1:9/' });
  await op.queues.delete(account, gone.id);
  await op.db.query(`select ${publishInSql(queue.id, JOBS)}`);
  await claimOf(op.db, queue.id, 1);
  const job = await op.db.one<{ id: string }>('select id from job where queue_id = $1 limit 1', [queue.id]);
  const values = `from (select '${id}' as account, '${queue.id}' as queue, '${job?.id}' as job) v`;
  for (const text of [
    `attempt (job_id, ordinal, queue_id, attempt, status, "timestamp") select job, 1, queue, 1, 'failed', now() ${values}`,
    `dead_letter (job_id, queue_id, reason, fingerprint, dead_at) select job, queue, 'nacked', 'f', now() ${values}`,
    `job_search (job_id, queue_id, doc) select reverse(job), queue, '{}' ${values}`,
    `queue_stats (queue_id, bucket) select queue, now() ${values}`,
    `queue_completed (queue_id, created_bucket) select queue, now() ${values}`,
    `dismissal (account_id, fingerprint, until, dismissed_by) select account, 'f', now(), 'x' ${values}`,
    `queue_bookmark (queue_id, number, token, early, due, ends, set_at) select queue, 1, 1, '{}', now(), now(), now() ${values}`,
    `rate_window (queue_id, part, starts, used) select queue, 1, now(), 1 ${values}`,
    `saved_view (account_id, page, name, query, created_by) select account, 'jobs', 'n', '', 'x' ${values}`,
    `member (account_id, issuer, subject, role, may_view_payloads) select account, 'i', 's', 'viewer', true ${values}`,
    `usage (account_id, month, attempts) select account, '2026-10', 7 ${values}`,
    `queue_usage (account_id, month, queue_id, queue_name, success, failed, deferred, counted_until)
     select account, '2026-10', queue, 'q', 7, 0, 0, now() ${values}`,
    `alert_rule (id, account_id, queue_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
     select reverse(queue), account, queue, 'hold', 60, 0, 0, 'http://127.0.0.1:9/', 'slack', 's' ${values}`,
    `alert (account_id, rule_id, queue_id, since, value, cause) select account, reverse(queue), queue, now(), 1, 'c' ${values}`,
    `alert_notification (account_id, rule_id, content) select account, reverse(queue), '{}' ${values}`,
    `tunnel (id, account_id, queue_id, opened_by, opened_by_type, forced, opened_at, expires_at)
     select md5(account), account, queue, 'x', 'operator', false, now(), now() + interval '20 s' ${values}`,
    `sign_in_link (hash, account_id, expires_at) select md5(account) || md5(account), account, now() ${values}`,
  ]) {
    await op.db.query(`insert into ${text}`);
  }
  // A job that the retention sweep has removed.
  const sweptId = [...(job?.id ?? '')].reverse().join('');
  const action = await op.bulk.startPurge(account, queue.id);
  await op.db.query('insert into bulk_action_job (job_id, action_id) values ($1, $2)', [sweptId, action]);
  await op.sessions.startOfKey({ ...account, actor: { type: 'api_key', id: key.id, label: 'x' } }, null);
  const jobs = await op.db.query<{ id: string }>('select id from job where account_id = $1', [id]);
  return { id, account, key, queueId: queue.id, ids: [id, queue.id, gone.id, sweptId, ...jobs.map((one) => one.id)] };
}

/** Tables that have rows with one of the ids. */
async function traces(ids: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const { table, column } of columns) {
    const [row] = await op.db.query<{ n: number }>(`select count(*) as n from "${table}" where ${column} = any ($1)`, [
      ids,
    ]);
    if ((row?.n ?? 0) > 0) found.push(table);
  }
  return [...new Set(found)].sort();
}

/** The deletion that has begun. */
async function begun(accountId: string): Promise<Deletion> {
  await beginDeletion(op.db, OPERATOR, accountId);
  const receipt = await findReceipt(op.db, accountId);
  if (receipt === null) throw new Error('the deletion has not begun');
  return receipt;
}

const OPTIONS = { progress: () => undefined, quietMs: 0 };

describe('the deletion of an account', () => {
  it('removes all rows of it, and nothing of others, with a receipt', async () => {
    const [tenant, other] = [await fullAccount(), await fullAccount()];
    const before = await traces(other.ids);
    expect(before, 'this test has rows in every table').toEqual(
      [...new Set(columns.map(({ table }) => table))].filter((table) => table !== 'account_deletion').sort(),
    );
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, OPTIONS);
    expect(receipt).toMatchObject({
      accountId: tenant.id,
      name: 'tenant',
      requestedBy: 'operator',
      finishedAt: expect.any(Date),
      removed: {
        jobs: JOBS,
        attempts: 1,
        deadLetters: 1,
        queues: 2,
        apiKeys: 1,
        sessions: 1,
        members: 1,
        bulkActions: 1,
      },
    });
    expect(await traces(tenant.ids)).toEqual(['account_deletion']);
    expect(await op.db.query('select from account where id = $1', [tenant.id])).toEqual([]);
    expect(await op.accounts.authenticate(tenant.key.key)).toBeNull();
    expect(await traces(other.ids)).toEqual(before);
    expect(await op.auditOf(tenant.id), 'in the audit log of the operator').toMatchObject([
      {
        action: 'account.delete',
        actor_type: 'operator',
        before: { name: 'tenant' },
        after: { removed: { jobs: JOBS } },
      },
    ]);
    expect(await deleteAccount(database, OPERATOR, tenant.id, OPTIONS), 'again').toEqual(receipt);
    await deleteAccount(database, OPERATOR, other.id, OPTIONS);
  });

  it('continues after an interruption, and counts each row once', async () => {
    const tenant = await fullAccount();
    let batches = 0;
    const interrupted = () => {
      batches += 1;
      if (batches === 3) throw new Error('interrupted');
    };
    await expect(deleteAccount(database, OPERATOR, tenant.id, { progress: interrupted, quietMs: 0 })).rejects.toThrow();
    expect(await op.accounts.authenticate(tenant.key.key), 'its keys are revoked first').toBeNull();
    await expect(operator.run('account', 'resume', tenant.id)).rejects.toThrow('is being deleted');
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, OPTIONS);
    expect(receipt?.removed).toMatchObject({ jobs: JOBS, queues: 2, sessions: 1 });
    expect(await traces(tenant.ids)).toEqual(['account_deletion']);
  });

  it('removes jobs of publishes that began before it, and the queue only when none can come any more', async () => {
    const tenant = await fullAccount();
    await op.db.query('update queue set deleted_at = jobferry_now() where account_id = $1', [tenant.id]);
    const now = new Date(await databaseTime(op.db));
    expect(await removingQueues(op.db, await begun(tenant.id), now, 10_000)()).toBe(0);
    let batches = 0;
    const publish = async () => {
      batches += 1;
      // After the last batch of the queue's jobs.
      if (batches !== 4) return;
      expect(await op.db.query('select from job where account_id = $1', [tenant.id])).toEqual([]);
      await op.db.query(
        `insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for,
                          deliver_by, created_at)
         values ($3, $1, $2, 1, 'fixed', 0, '{}', now(), now(), now())`,
        [tenant.id, tenant.queueId, UNKNOWN_ID],
      );
    };
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, { progress: publish, quietMs: 0 });
    expect(receipt?.removed).toMatchObject({ jobs: JOBS + 1, queues: 2 });
    expect(await traces([...tenant.ids, UNKNOWN_ID])).toEqual(['account_deletion']);
  });

  it('keeps its empty queues from the retention sweep, which would end the wait for such publishes', async () => {
    const tenant = await fullAccount();
    const queues = () => op.db.query('select from queue where account_id = $1', [tenant.id]);
    let batches = 0;
    const sweep = async () => {
      batches += 1;
      // After the last batch of the queue's jobs.
      if (batches !== 4) return;
      expect(await op.db.query('select from job where account_id = $1', [tenant.id])).toEqual([]);
      await op.db.query(`update queue set deleted_at = deleted_at - interval '1 minute' where account_id = $1`, [
        tenant.id,
      ]);
      await sweepQueues(op.db, '');
      expect(await queues()).toHaveLength(2);
    };
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, { progress: sweep, quietMs: 0 });
    expect(receipt?.removed).toMatchObject({ jobs: JOBS, queues: 2 });
    expect(await queues()).toEqual([]);
  });
});

describe('two deletions of an account', () => {
  it('are not run at once: the second is refused in words', async () => {
    const tenant = await fullAccount();
    const refusals: unknown[] = [];
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, {
      quietMs: 0,
      progress: async () => {
        if (refusals.length === 0)
          refusals.push(await deleteAccount(database, OPERATOR, tenant.id, OPTIONS).catch((error) => error));
      },
    });
    expect(refusals).toEqual([expect.any(DeletionError)]);
    expect(String(refusals[0])).toContain('is being deleted by another `account delete`');
    expect(receipt?.removed).toMatchObject({ jobs: JOBS, queues: 2 });
    expect(await deleteAccount(database, OPERATOR, tenant.id, OPTIONS), 'afterwards').toEqual(receipt);
  });

  it('are not finished after a later release has migrated the database, which may have rows of the account elsewhere', async () => {
    const tenant = await fullAccount();
    await op.db.query(`insert into _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count)
                       values ('later', '', '29990101000000_later', now(), 1)`);
    const attempt = () => deleteAccount(database, OPERATOR, tenant.id, OPTIONS);
    await expect(attempt()).rejects.toThrow(/finish the deletion of account \w+ with the command of that release/);
    await op.db.query(`delete from _prisma_migrations where id = 'later'`);
    expect((await attempt())?.finishedAt).toBeInstanceOf(Date);
  });

  it('do not run at once after the end of the connection that keeps them apart', async () => {
    const tenant = await fullAccount();
    let batches = 0;
    const progress = async () => {
      batches += 1;
      if (batches > 1) return;
      const ended = await op.db.query(
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity
          where application_name = 'jobferry account delete' and datname = current_database()`,
      );
      expect(ended).toHaveLength(1);
    };
    await expect(deleteAccount(database, OPERATOR, tenant.id, { progress, quietMs: 0 })).rejects.toThrow(
      'run the command again',
    );
    const receipt = await deleteAccount(database, OPERATOR, tenant.id, OPTIONS);
    expect(receipt?.removed).toMatchObject({ jobs: JOBS, queues: 2, sessions: 1 });
  });

  it('never touch an account that was restored after the end of the first', async () => {
    const tenant = await fullAccount();
    let batches = 0;
    // Another run and a restore do this meanwhile.
    const progress = async () => {
      batches += 1;
      if (batches > 1) throw new Error('a batch of the restored account');
      const deletion = await begun(tenant.id);
      for (const table of [
        'bulk_action_job',
        'bulk_action',
        'alert',
        'alert_notification',
        'alert_rule',
        'audit_entry',
      ])
        await op.db.query(
          `delete from ${table} where ${table === 'bulk_action_job' ? 'job_id = any ($1)' : 'account_id = any ($1)'}`,
          [tenant.ids],
        );
      for (const table of ['dismissal', 'member', 'api_key', 'dead_letter', 'attempt', 'job', 'queue'])
        await op.db.query(
          `delete from ${table} where ${table === 'attempt' || table === 'dead_letter' ? 'job_id' : 'account_id'} = any ($1)`,
          [tenant.ids],
        );
      await finishDeletion(op.db, OPERATOR, deletion);
      await op.db.query('delete from account_deletion where account_id = $1 and finished_at is not null', [tenant.id]);
      await op.db.query(`insert into account (id, name, plan) values ($1, 'tenant', 'pro')`, [tenant.id]);
      await op.queues.create(tenant.account, { name: 'restored', webhookUrl: 'http://127.0.0.1:9/' });
    };
    await expect(deleteAccount(database, OPERATOR, tenant.id, { progress, quietMs: 0 })).rejects.toThrow(
      'the restored account is as it was',
    );
    expect(await op.db.query('select name, deleted_at from queue where account_id = $1', [tenant.id])).toEqual([
      { name: 'restored', deleted_at: null },
    ]);
    expect(await op.db.query('select suspended_at from account where id = $1', [tenant.id])).toEqual([
      { suspended_at: null },
    ]);
    // Nor is a deletion that begins now one of the run before.
    expect((await deleteAccount(database, OPERATOR, tenant.id, OPTIONS))?.removed).toMatchObject({ queues: 1 });
  });
});

describe('account delete', () => {
  it('asks for the name, and refuses the account of the operator', async () => {
    const tenant = await fullAccount();
    const { id } = await op.firstAccount();
    await expect(operator.run('account', 'delete', tenant.id)).rejects.toThrow('--confirm is missing');
    await expect(operator.run('account', 'delete', tenant.id, '--confirm', 'x')).rejects.toThrow('which is "tenant"');
    await expect(operator.run('account', 'delete', id, '--confirm', 'operator')).rejects.toThrow(
      'the one of the operator',
    );
    await expect(operator.run('account', 'delete', UNKNOWN_ID, '--confirm', 'x')).rejects.toThrow('does not exist');
    await deleteAccount(database, OPERATOR, tenant.id, OPTIONS);
    expect(await operator.text('account', 'delete', tenant.id, '--confirm', 'tenant')).toMatch(
      /^removed: jobs +1100$/m,
    );
  });
});
