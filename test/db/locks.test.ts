import { expect, it, onTestFinished } from 'vitest';
import { lockHolders } from '../../src/db/operator/locks.ts';
import { judgeLocks } from '../../src/domain/doctor-locks.ts';
import { connect } from '../support/database.ts';
import { openFixture } from '../support/database-fixture.ts';
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
    fix: `end it there, or: select pg_terminate_backend(${pid?.pid})`,
  });
  await db.query(`select pg_terminate_backend($1)`, [pid?.pid]);
  await waiting;
  expect(await lockHolders(db, 0)).toEqual([]);
});

it('locks are a problem if another session waits or the holder does nothing, and else a warning', () => {
  const holder = {
    pid: 7,
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
      ...{ check: 'locks', status: 'warning' },
      what: 'a transaction of ann (no program name, pid 7) has had locks on job, queue for 98 s',
      fix: 'wait for its end, or: select pg_terminate_backend(7)',
    },
    expect.objectContaining({ status: 'problem', what: expect.stringMatching(/; 3 sessions wait for it$/) }),
    expect.objectContaining({ status: 'problem', fix: 'end it there, or: select pg_terminate_backend(7)' }),
  ]);
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
    expect.stringMatching(/^problem: .* has had locks on job for \d+ s; 1 session waits for it -> end it there/),
    expect.stringMatching(/^problem: .* has waited for a lock, with others on job .* select pg_cancel_backend/),
  ]);
  await dump.query('rollback');
  await changed;
  await change.query('rollback');
  await read;
});
