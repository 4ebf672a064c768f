import { expect, it, onTestFinished } from 'vitest';
import { lockHolders } from '../../src/db/operator/locks.ts';
import { judgeLocks } from '../../src/domain/doctor-locks.ts';
import { openFixture } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

it('of a session that is idle in its transaction are found, with who waits and the statement that ends it', async () => {
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
  const held = { pid: pid?.pid, program: 'a laptop', isActive: false, tables: ['queue'] };
  expect(await lockHolders(db, 0)).toMatchObject([{ ...held, waiting: 0 }]);
  // Not yet for long enough.
  expect(await lockHolders(db)).toEqual([]);

  const waiting = db.query(`update queue set name = 'renamed' where id = $1`, [queue.id]).catch(() => undefined);
  await waitFor(async () => (await lockHolders(db, 0))[0]?.waiting === 1);
  const [finding] = judgeLocks(await lockHolders(db, 0));
  expect(finding).toMatchObject({
    status: 'problem',
    what: expect.stringMatching(
      /^a transaction of \w+ \(a laptop, pid \d+\), which is idle, has had locks on queue for 0 s; 1 session waits for it$/,
    ),
    fix: `end it there, or: select pg_terminate_backend(${pid?.pid})`,
  });
  await db.query(`select pg_terminate_backend($1)`, [pid?.pid]);
  await waiting;
  expect(await lockHolders(db, 0)).toEqual([]);
});

it('are a problem if another session waits or the holder does nothing, and else a warning', () => {
  const holder = {
    pid: 7,
    user: 'ann',
    program: '',
    isActive: true,
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
