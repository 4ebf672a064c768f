import { expect, it } from 'vitest';
import { measuresOfQueues, measuresOfService } from '../../src/db/insight/measures.ts';
import { measuresOfServer } from '../../src/db/insight/server-measures.ts';
import { openFixture, RETENTION_MS } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

const fixture = await openFixture();
const { db } = fixture;

it('knows no lag of the statistics before there is a job, and none older than the first job', async () => {
  const lag = async () => (await measuresOfService(db, RETENTION_MS)).statisticsSeconds;
  expect(await lag()).toBe(0);
  const queue = await fixture.createQueue();
  await fixture.publishJobs(queue, 1);
  await waitFor(async () => (await lag()) > 0, { message: 'a lag' });
  expect(await lag()).toBeLessThan(600);
});

it('knows an open breaker, which holds its queue, from a hold that the receiver asked for', async () => {
  const [broken, held, ended] = [await fixture.createQueue(), await fixture.createQueue(), await fixture.createQueue()];
  const set = (id: string, columns: string) => db.query(`update queue set ${columns} where id = $1`, [id]);
  const hold = `hold_until = jobferry_now() + interval '1 h', hold_since = jobferry_now() - interval '1 min'`;
  await set(broken.id, `${hold}, breaker_opened_at = jobferry_now()`);
  await set(held.id, hold);
  await set(ended.id, 'breaker_opened_at = jobferry_now()');
  const found = new Map((await measuresOfQueues(db, [broken.id, held.id, ended.id])).map((one) => [one.id, one]));
  expect([broken, held, ended].map(({ id }) => found.get(id)?.breakerOpen)).toEqual([true, false, false]);
  expect([broken, held, ended].map(({ id }) => (found.get(id)?.holdSeconds ?? 0) > 0)).toEqual([true, true, false]);
});

it('finds the oldest transactions, idle ones apart from those that work now and then, and the sizes', async () => {
  const before = await measuresOfServer(db, 0);
  expect(before).toMatchObject({ idleTransactionSeconds: 0, activeTransactionSeconds: 0 });
  expect(before.databaseBytes).toBeGreaterThan(1_000_000);
  expect(before.jobBytes).toBeGreaterThan(0);
  expect(before.idsAge).toBeGreaterThan(0);
  expect(before.snapshotTransactions).toBe(0);
  const [idle, active] = await Promise.all([db.sessionPool.connect(), db.sessionPool.connect()]);
  try {
    // A table that a session has locked is no obstacle.
    await idle.query('begin; lock table job');
    const found = async () => {
      const now = await measuresOfServer(db, 0);
      return (now.idleTransactionSeconds ?? 0) > 0.05 ? now : null;
    };
    const locked = await waitFor(found, { message: 'an idle transaction' });
    expect(locked.activeTransactionSeconds).toBe(0);
    // Between two statements that are less than a minute apart.
    const working = await measuresOfServer(db);
    expect(working.idleTransactionSeconds).toBe(0);
    expect(working.activeTransactionSeconds).toBeGreaterThan(0.05);
    const waiting = active.query('select from job limit 1').catch(() => undefined);
    await waitFor(async () => ((await measuresOfServer(db, 0)).activeTransactionSeconds ?? 0) > 0.05, {
      message: 'a running statement',
    });
    await idle.query('rollback');
    await waiting;
  } finally {
    idle.release(true);
    active.release(true);
  }
});
