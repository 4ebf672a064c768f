import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import { measuresOfServer } from '../../src/db/insight/server-measures.ts';
import { lockHolders } from '../../src/db/operator/locks.ts';
import { blindRole, snapshotHolders } from '../../src/db/operator/snapshots.ts';
import { judgeLocks } from '../../src/domain/doctor-locks.ts';
import { connect } from '../support/database.ts';
import { openFixture } from '../support/database-fixture.ts';
import { blockOf } from '../support/handbook.ts';
import { waitFor } from '../support/wait-for.ts';

it('an idle transaction with locks is found, with who waits and the statement that ends it', async () => {
  const fixture = await openFixture();
  const queue = await fixture.createQueue();
  const { db } = fixture;
  expect(judgeLocks(await lockHolders(db, 0))).toMatchObject([{ check: 'locks', status: 'ok' }]);

  const holder = await db.sessionPool.connect();
  onTestFinished(() => holder.release(true));
  await holder.query(`set application_name = 'a laptop'`);
  await holder.query('begin');
  await holder.query('select from queue where id = $1 for update', [queue.id]);
  const [pid] = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  const held = { pid: pid?.pid, program: 'a laptop', isActive: false, isWaiting: false, tables: ['queue'] };
  expect(await lockHolders(db, 0)).toMatchObject([{ ...held, waiting: 0 }]);
  // Not yet for long enough.
  expect(await lockHolders(db)).toEqual([]);

  // Without the time limit of the service's statements.
  const waiter = await connect(fixture.url);
  const waiting = waiter.query(`update queue set name = 'renamed' where id = $1`, [queue.id]).catch(() => undefined);
  await waitFor(async () => (await lockHolders(db, 0))[0]?.waiting === 1);
  const [finding] = judgeLocks(await lockHolders(db, 0));
  expect(finding).toMatchObject({
    status: 'problem',
    what: expect.stringMatching(
      /^a transaction of \w+ \(a laptop, pid \d+\), which is idle, has had locks on queue for \d+ s; 1 session waits for it$/,
    ),
    fix: `end it in that program, or: select pg_terminate_backend(${pid?.pid})`,
  });
  await db.query(`select pg_terminate_backend($1)`, [pid?.pid]);
  await waiting;
  expect(await lockHolders(db, 0)).toEqual([]);
});

it('locks are a problem if another session waits or the holder does nothing, and else a warning', () => {
  const holder = {
    pid: 7,
    prepared: null,
    user: 'ann',
    program: '',
    isActive: true,
    isWaiting: false,
    seconds: 98.4,
    waiting: 0,
    tables: ['job', 'queue'],
  };
  expect(judgeLocks([holder, { ...holder, waiting: 3 }, { ...holder, isActive: false }])).toEqual([
    {
      check: 'locks',
      status: 'warning',
      what: 'a transaction of ann (no program name, pid 7) has had locks on job, queue for 98 s',
      fix: 'wait for its end, or: select pg_terminate_backend(7)',
    },
    expect.objectContaining({ status: 'problem', what: expect.stringMatching(/; 3 sessions wait for it$/) }),
    expect.objectContaining({ status: 'problem', fix: 'end it in that program, or: select pg_terminate_backend(7)' }),
  ]);
});

it('a prepared transaction is found, which no session has, with the statements that end it', async ({ skip }) => {
  const fixture = await openFixture();
  const queue = await fixture.createQueue();
  const { db, url } = fixture;
  const [setting] = await db.query<{ max: string }>(`select current_setting('max_prepared_transactions') as max`);
  if (setting?.max === '0') skip('the given server prepares no transactions');
  const [holder, waiter] = [await connect(url), await connect(url)];
  const id = `o'neill ${randomBytes(4).toString('hex')}`;
  const literal = `'${id.replace("'", "''")}'`;
  await holder.query('begin');
  await holder.query('select from queue where id = $1 for update', [queue.id]);
  await holder.query(`prepare transaction ${literal}`);
  onTestFinished(async () => {
    await holder.query(`rollback prepared ${literal}`);
  });
  expect(await lockHolders(db)).toEqual([]);
  expect(await lockHolders(db, 0)).toMatchObject([{ pid: 0, prepared: id, tables: ['queue'], waiting: 0 }]);
  const waiting = waiter.query(`update queue set name = 'renamed' where id = $1`, [queue.id]).catch(() => undefined);
  await waitFor(async () => (await lockHolders(db, 0))[0]?.waiting === 1);
  expect(judgeLocks((await lockHolders(db, 0)).slice(0, 1))).toMatchObject([
    {
      status: 'problem',
      what: expect.stringContaining(`the prepared transaction ${id} of `),
      fix: `commit prepared ${literal}, or: rollback prepared ${literal}`,
    },
  ]);
  await waiter.end();
  await waiting;
});

it('a schema change behind a dump: both sessions are named, and which of them waits', async () => {
  const { db, url } = await openFixture();
  const [dump, change, reader] = await Promise.all([connect(url), connect(url), connect(url)]);
  await dump.query('begin; lock table job in access share mode');
  const changed = change.query('begin; alter table job add column note text').catch(() => undefined);
  await waitFor(async () => (await lockHolders(db, 0))[0]?.waiting === 1, { message: 'the change that waits' });
  const read = reader.query('select from job limit 1').catch(() => undefined);
  const found = () =>
    lockHolders(db, 0).then((holders) => holders.map(({ waiting, isWaiting }) => [waiting, isWaiting]));
  await waitFor(async () => (await found()).flat().join() === '1,false,1,true', { message: 'the reader' });
  const said = judgeLocks(await lockHolders(db, 0)).map(({ status, what, fix }) => `${status}: ${what} -> ${fix}`);
  expect(said).toEqual([
    expect.stringMatching(/^problem: .* has had locks on job for \d+ s; 1 session waits for it -> end it in/),
    expect.stringMatching(/^problem: .* has waited for a lock, with others on job .* select pg_cancel_backend/),
  ]);
  await dump.query('rollback');
  await changed;
  await change.query('rollback');
  await read;
});

it('a role without pg_read_all_stats knows that it does not see sessions of other roles', async () => {
  const { db, url } = await openFixture();
  const role = `Run-${randomBytes(4).toString('hex')}`;
  await db.query(`create role "${role}" login password 'secret'`);
  const limitedUrl = new URL(url);
  [limitedUrl.username, limitedUrl.password] = [role, 'secret'];
  const limited = new Database(limitedUrl.href, db.log);
  const holder = await connect(url);
  onTestFinished(async () => {
    await Promise.all([limited.close(), holder.end()]);
    await db.query(`drop role "${role}"`);
  });
  await holder.query(`set application_name = 'analyst-notebook'`);
  await holder.query('begin isolation level repeatable read; lock table queue in row share mode');
  const seen = async () => ({
    role: await blindRole(limited),
    locks: (await lockHolders(limited, 0)).map(({ program }) => program),
    snapshots: (await snapshotHolders(limited, { seconds: 0, ids: 1e9 })).map(({ program }) => program),
    isMeasured: await measuresOfServer(limited, 0).then(
      ({ idleTransactionSeconds, snapshotTransactions }) =>
        idleTransactionSeconds !== null && snapshotTransactions !== null,
    ),
  });
  expect(await seen()).toEqual({ role: `"${role}"`, locks: [], snapshots: [], isMeasured: false });
  await db.query(`grant pg_read_all_stats to "${role}"`);
  const program = 'analyst-notebook';
  expect(await seen()).toEqual({ role: null, locks: [program], snapshots: [program], isMeasured: true });
  expect(await blindRole(db)).toBe(null);
});

it('the statements of the handbook for a full disk name who holds a snapshot, to a role with pg_monitor', async () => {
  const { url } = await openFixture();
  const [holder, superuser] = [await connect(url), await connect(url)];
  onTestFinished(() => Promise.all([holder.end(), superuser.end()]).then(() => undefined));
  await superuser.query('set role pg_monitor');
  await holder.query(`set application_name = 'report-of-2027'`);
  await holder.query('begin isolation level repeatable read; select 1');
  const block = blockOf('1. Where the space is', 'sql');
  const statements = block.split(';').filter((text) => text.trim() !== '');
  expect(statements).toHaveLength(9);
  const rows: Record<string, unknown>[] = [];
  for (const text of statements) rows.push(...(await superuser.query(text.replace("'1 min'", "'0 s'"))).rows);
  expect(rows).toContainEqual(
    expect.objectContaining({
      application_name: 'report-of-2027',
      state: 'idle in transaction',
      usename: expect.any(String),
    }),
  );
});

it('old transactions are found with who holds them, what they do, and whether they keep dead rows', async () => {
  const { db, url } = await openFixture();
  const holder = await connect(url);
  onTestFinished(() => holder.end());
  await holder.query(`set application_name = 'analyst-notebook'`);
  const [pid] = (await holder.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  const held = { kind: 'session', program: 'analyst-notebook', state: 'idle in transaction', name: String(pid?.pid) };
  const found = () => snapshotHolders(db, { seconds: 0, ids: 1e9 });

  await holder.query('begin isolation level repeatable read; select 1');
  expect(await snapshotHolders(db, { seconds: 60, ids: 1e9 })).toEqual([]);
  const seen = expect.any(Number);
  expect(await found()).toEqual([expect.objectContaining({ ...held, seconds: seen, ids: seen })]);

  await holder.query('rollback; begin isolation level read committed; select from job limit 1');
  expect(await found()).toEqual([expect.objectContaining({ ...held, seconds: seen, ids: null })]);

  await holder.query('select pg_current_xact_id()');
  expect(await found()).toEqual([expect.objectContaining({ ...held, seconds: seen, ids: seen })]);
});
