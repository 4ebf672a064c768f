import { createHash, randomBytes } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { rollUp } from '../../src/db/insight/statistics.ts';
import { BACKED_UP, LEFT_OUT } from '../../src/db/operator/backup/tables.ts';
import { operatorsAccountId } from '../../src/db/operator-account.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import { backUp } from '../../src/services/operator/backup.ts';
import { deleteAccount } from '../../src/services/operator/delete-account.ts';
import { checkBackup, restore } from '../../src/services/operator/restore.ts';
import { aheadOfBackup, openFolder, rewritten, rowsOf } from '../support/backup.ts';
import { claimOf } from '../support/claim.ts';
import { connect, createTestDatabase, LOCK_WAITERS } from '../support/database.ts';
import { PERIODS } from '../support/database-fixture.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/** The contents of a backup, and their restore. */

const KEY = randomBytes(32);
/** More than a statement reads. */
const JOBS = 1100;
const RECENT = ['recent_stats', 'recent_completed'];
const TABLES = BACKED_UP.map(({ name }) => name).filter((name) => !RECENT.includes(name));

let folder: string;
let source: TestServices & { url: string };
/** The backup of all accounts of `source`. */
let whole: string;
let tenant: Filled;
let files = 0;

const newFile = () => {
  files += 1;
  return join(folder, `backup-${files}`);
};

async function open(encryptionKeys: Uint8Array[] = []): Promise<TestServices & { url: string }> {
  const { url } = await createTestDatabase();
  const op = openServices(url, { encryptionKeys });
  return { ...op, url };
}

/** A database into which a backup of a moment ago can be restored at once. */
async function openTarget(encryptionKeys: Uint8Array[] = [KEY]) {
  const target = await open(encryptionKeys);
  await aheadOfBackup(target.db);
  return target;
}

type Opened = Awaited<ReturnType<typeof open>>;

async function backUpTo(op: Opened, accountId: string | null = null): Promise<string> {
  const file = newFile();
  const options = {
    url: op.url,
    accountId,
    release: '0.1.0',
    retentionMs: PERIODS.retentionMs,
    progress: () => undefined,
  };
  await backUp(op.db, file, options);
  return file;
}

const READ = { unsigned: false, maxBodyBytes: 1_048_576 };

const restoreTo = (
  op: Opened,
  file: string,
  options: { accountId?: string; resume?: boolean; operator?: boolean; unsigned?: boolean } = {},
) =>
  restore(op.db, file, {
    url: op.url,
    actor: OPERATOR,
    accountId: null,
    periods: PERIODS,
    resume: false,
    operator: false,
    ...READ,
    progress: () => undefined,
    ...options,
  });

/** Options of a check of all accounts. */
const CHECKED = { ...READ, accountId: null, operator: false, progress: () => undefined };

type Filled = Awaited<ReturnType<typeof fill>>;

/** An account with rows in each table of a backup. */
async function fill(op: TestServices, name: string) {
  const made = await op.db.one<{ id: string }>(`insert into account (name, plan) values ($1, 'pro') returning id`, [
    name,
  ]);
  const id = made?.id ?? '';
  const account = { id, name, plan: 'pro', actor: OPERATOR };
  const key = await op.accounts.createApiKey(account, null);
  const queue = await op.queues.create(account, { name: 'all', webhookUrl: 'http://127.0.0.1:9/', mode: 'ack' });
  const paused = await op.queues.create(account, { name: 'paused', webhookUrl: 'http://127.0.0.1:9/' });
  await op.queues.pause(account, paused.id);
  const gone = await op.queues.create(account, { name: 'gone', webhookUrl: 'http://127.0.0.1:9/' });
  await op.queues.delete(account, gone.id);
  await op.db.query(`select ${publishInSql(queue.id, JOBS)}`);
  const ids = (await op.db.query<{ id: string }>('select id from job where queue_id = $1 order by id', [queue.id])).map(
    (row) => row.id,
  );
  const { jobs } = await claimOf(op.db, queue.id, 2);
  const [processing = '', awaiting = ''] = jobs.map((job) => job.id);
  const [letter = '', done = '', odd = ''] = ids.filter((one) => one !== processing && one !== awaiting);
  const now = 'jobferry_now()';
  for (const text of [
    `update job set status = 'awaiting_ack', worker_id = null, deadline = ${now} + interval '1 hour' where id = '${awaiting}'`,
    `update job set status = 'dead', dead_at = ${now}, dead_reason = 'nacked', attempts = 1, history_count = 1 where id = '${letter}'`,
    `update job set status = 'completed', completed_at = ${now}, attempts = 1, history_count = 1 where id = '${done}'`,
    `update job set payload = '{ "a":-0, "a":1e400, "b":"\\u0000\\ud800 \u00e4\u{1f511}\\n" }', idempotency_key = 'k\u{1f511}' where id = '${odd}'`,
    `update queue set hold_until = ${now} + interval '1 hour', probe_job_id = '${processing}', hold_since = ${now} where id = '${queue.id}'`,
    `insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp", duration_ms, error, webhook_status_code)
     values ('${letter}', 1, '${queue.id}', 1, 'nacked', ${now}, 7, E'no\nline', null),
            ('${done}', 1, '${queue.id}', 1, 'success', ${now}, 9, null, 200)`,
    `insert into dead_letter (job_id, queue_id, reason, fingerprint, dead_at) values ('${letter}', '${queue.id}', 'nacked', 'f', ${now})`,
    `insert into queue_stats (queue_id, bucket, success, durations) values ('${queue.id}', jobferry_bucket(${now}), 3, '{0,2,1}')`,
    `insert into queue_completed (queue_id, created_bucket, completed) values ('${queue.id}', jobferry_bucket(${now}), 3)`,
    `insert into dismissal (account_id, fingerprint, until, dismissed_by) values ('${id}', 'f', ${now}, 'x')`,
    `insert into saved_view (account_id, page, name, query, created_by) values ('${id}', 'jobs', 'n', 'q=state:dead', 'x')`,
    `insert into member (account_id, issuer, subject, role, may_view_payloads) values ('${id}', 'i', 's', 'viewer', true)`,
    `insert into usage (account_id, month, attempts) values ('${id}', '2026-10', 9007199254740993)`,
    `insert into queue_usage (account_id, month, queue_id, queue_name, success, failed, deferred, counted_until)
     values ('${id}', '2026-10', '${queue.id}', 'q', 9007199254740993, 0, 0, ${now})`,
  ]) {
    await op.db.query(text);
  }
  const rule = await op.alerts.createRule(account, {
    kind: 'hold',
    queueId: queue.id,
    webhookUrl: 'http://127.0.0.1:9/',
  });
  const action = await op.bulk.startPurge(account, queue.id);
  await op.db.query('insert into bulk_action_job (job_id, action_id) values ($1, $2)', [ids[0], action]);
  return { id, account, key, queueId: queue.id, pausedId: paused.id, processing, awaiting, done, action, rule };
}

beforeAll(async () => {
  folder = await openFolder();
  source = { ...(await open([KEY])) };
  tenant = await fill(source, 'tenant');
  await fill(source, 'other');
  await source.db.query(
    `insert into account_deletion (account_id, name, requested_by, finished_at) values ('${UNKNOWN_ID}', 'x', 'y', now())`,
  );
  whole = await backUpTo(source);
});

it('decides for each table whether it is in a backup', async () => {
  const present = await source.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  expect([...TABLES, ...Object.keys(LEFT_OUT)].sort()).toEqual(present.map(({ name }) => name).sort());
});

describe('a restore', () => {
  it('gives back all rows as they were, and stops deliveries', async () => {
    const target = await openTarget();
    const before = await rowsOf(source.db, TABLES);
    for (const table of TABLES) expect(before[table], `this test has rows in ${table}`).not.toEqual([]);
    const { accounts, rows } = await restoreTo(target, whole);
    const after = await rowsOf(target.db, TABLES);

    expect(accounts).toMatchObject([
      { id: tenant.id, name: 'tenant', wasSuspended: false, interrupted: 1, awaitingAck: 1 },
      { name: 'other', interrupted: 1, awaitingAck: 1 },
    ]);
    expect(rows).toMatchObject({ account: 2, job: 2 * JOBS, attempt: 4 });
    const changed = ['account', 'queue', 'job', 'bulk_action', 'audit_entry', 'queue_stats', 'queue_completed'];
    for (const table of TABLES) if (!changed.includes(table)) expect(after[table], table).toEqual(before[table]);

    const usage = 'select attempts::text from usage order by 1';
    expect(await target.db.query(usage)).toEqual(await source.db.query(usage));
    const stop = { suspended_at: expect.any(String), suspended_by: 'operator (restored)' };
    expect(after.account).toEqual(before.account?.map((row) => ({ ...row, ...stop })));
    const pause = (row: Record<string, unknown>) =>
      row.paused_at === null && row.deleted_at === null
        ? { paused_at: expect.any(String), paused_by: 'operator (account suspended)' }
        : {};
    expect(after.queue).toEqual(before.queue?.map((row) => ({ ...row, ...pause(row), probe_job_id: null })));
    const inFlight = (row: Record<string, unknown>) => {
      if (row.status === 'processing') return { status: 'pending', attempts: 0, worker_id: null, deadline: null };
      return row.status === 'awaiting_ack' ? { deadline: expect.any(String) } : {};
    };
    expect(byId(after.job)).toEqual(byId(before.job?.map((row) => ({ ...row, ...inFlight(row), claim_token: 0 }))));
    const paused = { status: 'paused', paused_at: expect.any(String), paused_by: 'operator (restored)' };
    expect(byId(after.bulk_action)).toEqual(byId(before.bulk_action?.map((row) => ({ ...row, ...paused }))));
    const entries = after.audit_entry?.filter(({ action }) => action !== 'account.restore');
    expect(entries).toEqual(before.audit_entry);
    expect(await target.auditOf(tenant.id)).toMatchObject([
      {
        action: 'account.restore',
        actor_type: 'operator',
        after: { interrupted: 1, awaitingAck: 1, jobIds: [tenant.processing] },
      },
    ]);
  });

  it('gives a receiver the time that it had left for its report', async () => {
    const target = await openTarget();
    await restoreTo(target, whole);
    const row = await target.db.one<{ left: number }>(
      'select extract(epoch from deadline - jobferry_now())::float8 as left from job where id = $1',
      [tenant.awaiting],
    );
    expect(row?.left).toBeGreaterThan(3500);
    expect(row?.left).toBeLessThan(3600);
  });

  it('counts each attempt once in the statistics, whether they had it or not', async () => {
    const target = await openTarget();
    await restoreTo(target, whole);
    const sums = `select success, nacked, completed, durations from queue_stats join queue_completed using (queue_id)
                   where queue_id = '${tenant.queueId}'`;
    // Three that were summed up, and one that was not.
    expect(await target.db.query(sums)).toMatchObject([{ success: 4, nacked: 1, completed: 4 }]);
    await target.db.query(`select jobferry_roll_up('3 d', p_lag => '0')`);
    expect(await target.db.query(sums)).toMatchObject([{ success: 4, nacked: 1, completed: 4 }]);
  });

  it('makes payloads searchable again', async () => {
    const target = await openTarget();
    await restoreTo(target, whole);
    await target.db.query(`select jobferry_index_waiting(10000, 100000000)`);
    await target.db.query(`select jobferry_index_waiting(10000, 100000000)`);
    const rows = await target.db.query('select 1 from job_search where doc is not null and waiting_account is null');
    expect(rows).toHaveLength(2 * JOBS);
  });

  it('delivers again when the account is resumed', async () => {
    const target = await openTarget();
    expect(await claimable(target)).toBe(0);
    await restoreTo(target, whole, { accountId: tenant.id, resume: true });
    await target.db.query('update queue set hold_until = null');
    expect(await claimable(target)).toBeGreaterThan(0);
    const queues = await target.db.query<{ id: string }>('select id from queue where paused_at is not null');
    expect(queues, 'what was paused before stays paused').toEqual([{ id: tenant.pausedId }]);
    expect(await target.accounts.authenticate(tenant.key.key)).toMatchObject({ id: tenant.id });
  });

  it('restores one account of a backup of all, and nothing of the others', async () => {
    const target = await openTarget();
    const { accounts } = await restoreTo(target, whole, { accountId: tenant.id });
    expect(accounts.map(({ id }) => id)).toEqual([tenant.id]);
    expect(await target.db.query('select id from account')).toEqual([{ id: tenant.id }]);
    expect(await target.db.query('select from job')).toHaveLength(JOBS);
    expect(await target.db.query('select from account_deletion')).toEqual([]);
    await restoreTo(
      target,
      await backUpTo(
        source,
        (await source.db.one<{ id: string }>(`select id from account where name = 'other'`))?.id ?? '',
      ),
    );
    expect(await target.db.query('select from job')).toHaveLength(2 * JOBS);
  });

  it('brings back a deleted account, which can be deleted again', async () => {
    const own = await openTarget([]);
    await own.db.query(`insert into account (name, plan) values ('operator', 'pro')`);
    const lost = await fill(own, 'lost');
    const file = await backUpTo(own, lost.id);
    await deleteAccount(own, OPERATOR, lost.id, { progress: () => undefined, quietMs: 0 });
    await own.db.query(`update follower set position = (position::bigint + 200000)::text where name = 'stats'`);
    await restoreTo(own, file, { resume: true });
    expect(await own.accounts.authenticate(lost.key.key)).not.toBeNull();
    const receipt = await deleteAccount(own, OPERATOR, lost.id, { progress: () => undefined, quietMs: 0 });
    expect(receipt?.removed).toMatchObject({ jobs: JOBS });
  });

  it('encrypts secrets that the backup has in plain text', async () => {
    const plain = await open();
    const { queueId, rule } = await fill(plain, 'plain');
    const target = await openTarget([KEY]);
    await restoreTo(target, await backUpTo(plain), { unsigned: true });
    for (const [table, id] of [['queue', queueId] as const, ['alert_rule', rule.id] as const]) {
      const read = (op: TestServices) =>
        op.db.one<{ s: string }>(`select signing_secret as s from ${table} where id = $1`, [id]);
      const [was, is] = [(await read(plain))?.s ?? '', (await read(target))?.s ?? ''];
      expect(is, table).toMatch(/^enc:v1:/);
      expect(target.db.cipher.decrypt(`signing-secret:${id}`, is)).toBe(was);
    }
  });
});

describe('beside a service that runs', () => {
  it('a backup of one account reads by index', async () => {
    const { url, ...op } = await open();
    await op.db.query(`insert into account (name, plan) values ('first', 'pro')`);
    const { id, queueId } = await fill(op, 'small');
    const other = await fill(op, 'large');
    // Without the time limit of the service's statements, which a busy machine may reach.
    const seeding = await connect(url);
    await seeding.query(`insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, payload,
                                        scheduled_for, deliver_by, created_at, dead_reason)
      select jobferry_id(now() - n * interval '1 s'), '${other.id}', '${other.queueId}', 'dead', 3, 'fixed', 0, '{}', now(), now(),
             now(), 'nacked' from generate_series(1, 20000) n`);
    await seeding.query(`insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
      select id, 1, queue_id, 1, 'failed', created_at - interval '1 hour' from job where status = 'dead' on conflict do nothing`);
    await seeding.query(`insert into dead_letter (job_id, queue_id, reason, fingerprint, dead_at)
      select id, queue_id, 'nacked', '', now() from job where status = 'dead' on conflict do nothing`);
    await seeding.query('analyze');
    // A session reports its counts at its end. Those that seeded must not report while the backup is made.
    await seeding.query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
                          where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`);
    const scans = async () => {
      await seeding.query('select pg_stat_force_next_flush()');
      const { rows } = await seeding.query<{ scans: number }>(
        `select sum(seq_scan)::int as scans from pg_stat_user_tables where relname in ('job', 'attempt', 'dead_letter', 'job_search')`,
      );
      return rows[0]?.scans;
    };
    const before = await scans();
    const file = await backUpTo({ ...op, url }, id);
    const { end } = await checkBackup((await openTarget()).db, file, CHECKED);
    expect(end.rows).toMatchObject({ account: 1, job: JOBS });
    expect(await scans()).toBe(before);
    expect(queueId).not.toBe(other.queueId);
  });

  it('a restore locks nothing that claims, publishes and changes of other accounts need', async () => {
    const target = await openTarget();
    await target.db.query(`insert into account (name, plan) values ('busy', 'pro')`);
    const account = await target.firstAccount();
    const queue = await target.queues.create(account, { name: 'q', webhookUrl: 'http://127.0.0.1:9/' });
    const holder = await connect(target.url);
    await holder.query('begin; lock table bulk_action_job in access exclusive mode');
    const restoring = restoreTo(target, whole);
    await waitFor(async () => (await target.db.query(LOCK_WAITERS)).length === 1);
    await target.db.query(`select ${publishInSql(queue.id, 3)}`);
    expect((await claimOf(target.db, queue.id, 3)).jobs).toHaveLength(3);
    await target.queues.pause(account, queue.id);
    expect(await target.db.query('select from account'), 'nothing of it is there yet').toHaveLength(1);
    await expect(restoreTo(target, whole)).rejects.toThrow('another restore is running');
    await holder.query('rollback');
    await restoring;
    expect(await target.db.query('select from account')).toHaveLength(3);
  });
});

function byId(rows: Record<string, unknown>[] | undefined) {
  return rows?.toSorted((one, other) => String(one.id).localeCompare(String(other.id)));
}

async function claimable({ db }: TestServices): Promise<number> {
  const ids = await db.query<{ id: string }>('select id from queue where deleted_at is null and paused_at is null');
  let jobs = 0;
  for (const { id } of ids) jobs += (await claimOf(db, id, 1)).jobs.length;
  return jobs;
}

describe('a file', () => {
  it('can be read by its owner only, and replaces no other', async () => {
    expect((await stat(whole)).mode & 0o777).toBe(0o600);
    expect(existsSync(`${whole}.part`)).toBe(false);
    const options = { url: source.url, accountId: null, release: '1', retentionMs: 1000, progress: () => undefined };
    await expect(backUp(source.db, whole, options)).rejects.toThrow('exists already: choose another name');
    const file = newFile();
    await writeFile(`${file}.part`, '');
    await expect(backUp(source.db, file, options)).rejects.toThrow('one was interrupted');
    await expect(backUp(source.db, join(folder, 'no', 'folder'), options)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['an empty file', () => ''],
    ['another file', () => 'select 1;'],
    ['its first half', (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    ['all but its last byte', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['one with a changed byte', (bytes: Buffer) => changedAt(bytes, bytes.length / 3)],
    ['one with a changed byte at its end', (bytes: Buffer) => changedAt(bytes, bytes.length - 9)],
    ['one with something behind it', (bytes: Buffer) => Buffer.concat([bytes, bytes])],
  ])('is refused if it is %s, and nothing is written', async (_, change) => {
    const target = await openTarget();
    const file = newFile();
    await writeFile(file, change(await readFile(whole)));
    await expect(restoreTo(target, file)).rejects.toThrow(/is damaged or incomplete|is not a backup of Jobferry/);
    expect(await target.db.query('select from account')).toEqual([]);
  });

  it.each<[string, (lines: string[]) => string[] | undefined]>([
    ['without its end', (lines) => lines.slice(0, -1)],
    ['without a row', (lines) => lines.toSpliced(5, 1)],
    ['with a row twice', (lines) => lines.toSpliced(5, 0, lines[5] ?? '')],
    ['with rows in another order', (lines) => lines.toSpliced(5, 2, lines[6] ?? '', lines[5] ?? '')],
    ['with a changed row', (lines) => lines.map((line) => line.replace('"plan":"pro"', '"plan":"fre"'))],
    ['with a changed header', (lines) => lines.map((line) => line.replace('"release":"0.1.0"', '"release":"0.1.1"'))],
    ['that goes on after its end', (lines) => [...lines, lines[5] ?? '']],
  ])('is refused if it was packed again %s', async (_, change) => {
    const target = await openTarget();
    const file = await rewritten(whole, newFile(), change);
    await expect(restoreTo(target, file)).rejects.toThrow('is damaged or incomplete');
    expect(await target.db.query('select from account')).toEqual([]);
  });

  it('is verified again while its rows are restored, because another one may have its name by then', async () => {
    const target = await openTarget();
    const [file, other] = [newFile(), newFile()];
    await copyFile(whole, file);
    await rewritten(whole, other, (lines) => lines.map((line) => line.replace('"plan":"pro"', '"plan":"fre"')));
    const options = {
      url: target.url,
      actor: OPERATOR,
      accountId: null,
      periods: PERIODS,
      resume: false,
      operator: false,
      ...READ,
    };
    const progress = (step: string, rows: number) => {
      if (step === 'verifying' && rows === 1) renameSync(other, file);
    };
    await expect(restore(target.db, file, { ...options, progress })).rejects.toThrow('its checksum is wrong');
    expect(await target.db.query('select from account'), 'all or nothing').toEqual([]);
  });
});

function changedAt(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt8(copy.readUInt8(Math.floor(at)) ^ 0x55, Math.floor(at));
  return copy;
}

type Row = Record<string, unknown>;

/** Changes the lines of a backup before its end, and makes its end right. The signature remains. */
async function forged(change: (lines: string[]) => string[], from = whole): Promise<string> {
  return rewritten(from, newFile(), (lines) => {
    const changed = change(lines.slice(0, -1));
    const rows: Record<string, number> = {};
    for (const line of changed.slice(1)) {
      const [table] = JSON.parse(line) as [string];
      rows[table] = (rows[table] ?? 0) + 1;
    }
    const sha256 = createHash('sha256')
      .update(`${changed.join('\n')}\n`)
      .digest('hex');
    const { end } = JSON.parse(lines.at(-1) ?? '') as { end: Row };
    return [...changed, JSON.stringify({ end: { ...end, rows, sha256 } })];
  });
}

/** The file without its signature. */
const unsignedOf = (file: string) =>
  rewritten(file, newFile(), (lines) => {
    const { end } = JSON.parse(lines.at(-1) ?? '') as { end: Row };
    return [...lines.slice(0, -1), JSON.stringify({ end: { ...end, signature: undefined } })];
  });

async function withHeader(change: (header: Row) => void, rows = (line: string) => line): Promise<string> {
  const file = await forged(([first = '', ...lines]) => {
    const header = JSON.parse(first) as Row;
    change(header);
    return [JSON.stringify(header), ...lines.map(rows)];
  });
  return unsignedOf(file);
}

describe('a backup of another release', () => {
  it('can be restored if it is an earlier one: columns that it lacks get their defaults', async () => {
    const target = await openTarget();
    const lacks: Record<string, string[]> = { api_key: ['scopes', 'queues', 'expires_at'], job: ['trace_context'] };
    const file = await withHeader(
      (header) => {
        header.migrations = (header.migrations as string[]).slice(0, -3);
        const columns = header.columns as Record<string, string[]>;
        for (const [table, names] of Object.entries(lacks)) {
          columns[table] = (columns[table] ?? []).filter((name) => !names.includes(name));
        }
      },
      (line) => {
        const [table, row] = JSON.parse(line) as [string, Record<string, unknown>];
        if (lacks[table] === undefined) return line;
        for (const name of lacks[table]) delete row[name];
        return JSON.stringify([table, row]);
      },
    );
    await restoreTo(target, file, { resume: true, unsigned: true });
    expect(await target.db.query('select scopes, queues, expires_at from api_key limit 1')).toEqual([
      { scopes: [], queues: [], expires_at: null },
    ]);
    expect(await target.accounts.authenticate(tenant.key.key)).toMatchObject({ id: tenant.id });
  });

  it.each<[string, (header: Record<string, unknown>) => void, string]>([
    [
      'a later form',
      (header) => Object.assign(header, { version: 2, release: '9.0.0' }),
      'by a later release of Jobferry (9.0.0)',
    ],
    [
      'a later schema',
      (header) => (header.migrations as string[]).push('29991231_later'),
      'with 29991231_later): restore it with that',
    ],
    [
      'a column that was removed',
      (header) => (header.columns as Record<string, string[]>).queue?.push('colour'),
      'queue.colour',
    ],
    ['no format', (header) => delete header.format, 'is not a backup of Jobferry'],
  ])('is refused if it has %s', async (_, change, said) => {
    const target = await openTarget();
    await expect(restoreTo(target, await withHeader(change), { unsigned: true })).rejects.toThrow(said);
    expect(await target.db.query('select from account')).toEqual([]);
  });
});

describe('a signature', () => {
  it('is made with the key that encrypts, and verified with any key of ENCRYPTION_KEY', async () => {
    const target = await openTarget([randomBytes(32), KEY]);
    expect(await checkBackup(target.db, whole, CHECKED)).toMatchObject({
      refusal: null,
      end: { signature: { key: source.db.cipher.keyId } },
    });
  });

  it.each<[string, () => Promise<string>, string]>([
    ['is missing', () => unsignedOf(whole), 'it has no signature'],
    [
      'is of other rows',
      () => forged((lines) => lines.map((line) => line.replace('"plan":"pro"', '"plan":"fre"'))),
      'wrong',
    ],
    ['is of another key', async () => backUpTo(await open([randomBytes(32)])), 'which ENCRYPTION_KEY does not have'],
    ['is no signature', () => withEnd({ signature: 'x' }), 'it has no signature'],
  ])('a signature that %s is refused', async (_, make, said) => {
    const target = await openTarget();
    const file = await make();
    await expect(restoreTo(target, file)).rejects.toThrow(said);
    expect((await checkBackup(target.db, file, CHECKED)).refusal).toContain(said);
    expect(await target.db.query('select from account')).toEqual([]);
  });

  it('a wrong signature is refused also with --unsigned, and a missing one is accepted then', async () => {
    const target = await openTarget();
    const changed = await forged((lines) => lines.map((line) => line.replace('"plan":"pro"', '"plan":"fre"')));
    await expect(restoreTo(target, changed, { unsigned: true })).rejects.toThrow('its signature is wrong');
    await restoreTo(target, await unsignedOf(whole), { unsigned: true });
    expect(await target.db.query('select from account')).toHaveLength(2);
  });

  const withEnd = (more: Row) =>
    rewritten(whole, newFile(), (lines) => {
      const { end } = JSON.parse(lines.at(-1) ?? '') as { end: Row };
      return [...lines.slice(0, -1), JSON.stringify({ end: { ...end, ...more } })];
    });
});

it('is refused at 16 MiB of a line that does not end, however much the file unpacks to', async () => {
  const file = newFile();
  const header = gunzipSync(await readFile(whole))
    .toString()
    .split('\n', 1);
  await writeFile(file, gzipSync(Buffer.concat([Buffer.from(`${header}\n`), Buffer.alloc(80 * 2 ** 20)])));
  const target = await openTarget();
  await expect(restoreTo(target, file)).rejects.toThrow(
    'has a line of more than 16 MiB, so it is damaged or no backup',
  );
  expect(await target.db.query('select from account')).toEqual([]);
});

describe('a file that the customer of one account has written', () => {
  let target: Opened;
  let victim: Filled;
  let file: string;

  beforeAll(async () => {
    // Without a key there is no signature to verify.
    const from = await open();
    const customer = await fill(from, 'customer');
    file = await backUpTo(from, customer.id);
    target = await openTarget([]);
    victim = await fill(target, 'victim');
    // A restore brings the statistics up to date first, also one that is refused.
    await aheadOfBackup(target.db, 3);
    while (await rollUp(target.db, PERIODS.retentionMs));
  });

  const OWNERS = ['account_id', 'queue_id', 'job_id'];
  const FOREIGN = TABLES.filter((name) => !['account', 'account_deletion'].includes(name)).concat(RECENT);

  it.each(FOREIGN)('puts no row of %s into another account', async (table) => {
    const theirs: Row = { account_id: victim.id, queue_id: victim.queueId, job_id: victim.done };
    let found = 0;
    const change = (line: string) => {
      const [name, row] = JSON.parse(line) as [string, Row];
      if (name !== table || found > 0) return [];
      found += 1;
      const owned = Object.fromEntries(
        OWNERS.filter((column) => column in row).map((column) => [column, theirs[column]]),
      );
      // As it was made by others, it has an id of its own.
      const own = 'id' in row ? { id: UNKNOWN_ID } : {};
      const key = 'hash' in row ? { hash: 'f'.repeat(64) } : {};
      return [JSON.stringify([name, { ...row, ...owned, ...own, ...key }])];
    };
    const hostile = await forged((lines) => [...lines, ...lines.slice(1).flatMap(change)], file);
    expect(found, `the backup has rows of ${table}`).toBe(1);
    const before = await rowsOf(target.db, TABLES);
    await expect(restoreTo(target, hostile)).rejects.toThrow(/has rows of \w+ that do not belong to the account/);
    expect(await rowsOf(target.db, TABLES)).toEqual(before);
  });

  it('refers to no queue and no action of another account', async () => {
    for (const [table, column, theirs] of [
      ['alert_rule', 'queue_id', victim.queueId],
      ['bulk_action', 'queue_id', victim.queueId],
      ['bulk_action_job', 'action_id', victim.action],
    ] as const) {
      const hostile = await forged(
        (lines) =>
          lines.map((line, n) => {
            if (n === 0) return line;
            const [name, row] = JSON.parse(line) as [string, Row];
            return name === table ? JSON.stringify([name, { ...row, [column]: theirs }]) : line;
          }),
        file,
      );
      await expect(restoreTo(target, hostile), table).rejects.toThrow(`has rows of ${table} that do not belong`);
    }
  });
});

describe('a restore is refused', () => {
  it.each([
    ['without the key of the secrets', []],
    ['with another key', [randomBytes(32)]],
  ])('a restore %s is refused', async (_, keys) => {
    const target = await openTarget(keys);
    await expect(restoreTo(target, whole)).rejects.toThrow(`lacks a key with the id ${source.db.cipher.keyId}`);
  });

  it('a restore is refused if an account is here, with what to do', async () => {
    await expect(restoreTo(source, whole), 'the first account').rejects.toThrow('use an empty database');
    const other = await source.db.one<{ id: string }>(`select id from account where name = 'other'`);
    const ofOther = await backUpTo(source, other?.id ?? '');
    await expect(restoreTo(source, ofOther)).rejects.toThrow(`account delete ${other?.id} --confirm "other"`);
    const target = await openTarget();
    await target.db.query(`insert into account_deletion (account_id, name, requested_by) values ($1, 'tenant', 'x')`, [
      tenant.id,
    ]);
    await expect(restoreTo(target, whole)).rejects.toThrow('is being deleted');
    expect(await target.db.query('select from account')).toEqual([]);
  });

  it('a restore with --operator is refused if it has no account of an operator', async () => {
    const target = await openTarget();
    await expect(restoreTo(target, whole, { operator: true })).rejects.toThrow('leave out --operator');
    expect(await target.db.query('select from account')).toEqual([]);
  });

  it('a restore is refused if an API key is here in another account', async () => {
    const target = await openTarget();
    const hash = await source.db.one<{ hash: string }>('select hash from api_key where account_id = $1', [tenant.id]);
    await target.db.query(
      `with made as (insert into account (name, plan) values ('first', 'pro') returning id)
       insert into api_key (account_id, hash, prefix, last_four) select id, $1, 'p', 'l' from made`,
      [hash?.hash],
    );
    await expect(restoreTo(target, whole)).rejects.toThrow('an API key of the backup is here already');
    expect(await target.db.query('select from account')).toHaveLength(1);
  });

  it('a restore is refused for an account that the backup does not have', async () => {
    const target = await openTarget();
    await expect(restoreTo(target, whole, { accountId: UNKNOWN_ID })).rejects.toThrow('does not have the account');
  });
});

describe('the operator', () => {
  const operatorOf = async ({ db }: TestServices) => {
    const id = await operatorsAccountId(db);
    return (await db.one<{ name: string }>('select name from account where id = $1', [id]))?.name;
  };

  it('stays the same, however old the restored accounts are, unless another one is wanted', async () => {
    const from = await open();
    const old = await fill(from, 'old operator');
    await from.db.query('update account set is_operator = true where id = $1', [old.id]);
    const file = await backUpTo(from);
    const target = await openTarget();
    // Not marked yet, as before the first `serve`.
    await target.db.query(`insert into account (name, plan) values ('operator', 'pro')`);
    await restoreTo(target, file, { unsigned: true });
    expect(await operatorOf(target)).toBe('operator');
    await deleteAccount(target, OPERATOR, old.id, { progress: () => undefined, quietMs: 0 });
    await target.db.query(`update follower set position = (position::bigint + 200000)::text where name = 'stats'`);
    await restoreTo(target, file, { operator: true, unsigned: true });
    expect(await operatorOf(target)).toBe('old operator');
  });

  it('an empty database takes the operator of the backup', async () => {
    const from = await open();
    await fill(from, 'a tenant');
    const second = await fill(from, 'the operator');
    await from.db.query('update account set is_operator = true where id = $1', [second.id]);
    const target = await openTarget();
    await restoreTo(target, await backUpTo(from), { unsigned: true });
    expect(await operatorOf(target)).toBe('the operator');
  });
});

it('is checked without being written', async () => {
  const target = await openTarget();
  const { end } = await checkBackup(target.db, whole, CHECKED);
  expect(end).toMatchObject({ rows: { job: 2 * JOBS }, keys: [source.db.cipher.keyId] });
  expect(await target.db.query('select from account')).toEqual([]);
});
