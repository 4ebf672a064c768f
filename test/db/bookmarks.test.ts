import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { checkBookmark } from '../../src/db/retention/bookmarks.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import {
  changeFunction,
  chooseBookmarks,
  DELIVERED,
  FAILED,
  type Fixture,
  moveBookmarksIf,
  openFixture,
  type TestQueue,
  takeOverClock,
} from '../support/database-fixture.ts';

/**
 * Where reads of a queue begin (docs/decisions/0059). The model of the database compares them after random operations.
 */

const START = Date.UTC(2026, 10, 21, 12);
const MINUTE = 60_000;

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;

beforeAll(async () => {
  fixture = await openFixture();
  await moveBookmarksIf(fixture.db, 'false');
  setClock = await takeOverClock(fixture.db, START);
});

/** All jobs in flight become early ones. */
async function moveBookmark(queue: TestQueue): Promise<void> {
  const putBack = await chooseBookmarks(fixture.db, 't desc');
  await fixture.db.query('select jobferry_set_bookmark($1, jobferry_now())', [queue.id]);
  await putBack();
}

async function inFlight(queue: TestQueue): Promise<number> {
  return Number((await fixture.db.one<{ n: string }>('select jobferry_in_flight($1) as n', [queue.id]))?.n);
}

it('a job that was in flight before counts until it ends, and once if it is claimed again', async () => {
  const queue = await fixture.createQueue({ concurrency: 3 });
  await fixture.publishJobs(queue, 4);
  const { jobs } = await fixture.claim(queue, 2);
  await moveBookmark(queue);
  expect(await inFlight(queue)).toBe(2);
  const [first, second] = jobs as [(typeof jobs)[number], (typeof jobs)[number]];
  await fixture.settle(first, FAILED, START);
  expect(await inFlight(queue)).toBe(1);
  expect((await fixture.claim(queue, 10)).jobs.map(({ id }) => id)).toContain(first.id);
  expect(await inFlight(queue)).toBe(3);
  expect((await fixture.claim(queue, 10)).jobs).toEqual([]);
  await fixture.settle(second, DELIVERED, START);
  expect(await inFlight(queue)).toBe(2);
  await moveBookmark(queue);
  expect(await inFlight(queue)).toBe(2);
});

it('a slow job of a fast queue becomes an early one, and the token follows the fast ones', async () => {
  const queue = await fixture.createQueue();
  await fixture.publishJobs(queue, 101);
  const { jobs } = await fixture.claim(queue, 1);
  const fast = (await fixture.claim(queue, 100)).jobs;
  for (const job of fast.slice(0, 98)) await fixture.settle(job, DELIVERED, START);
  await fixture.db.query('select jobferry_set_bookmark($1, jobferry_now())', [queue.id]);
  const rows = await fixture.db.query<{ token: number; early: string[] }>(
    'select token, early from queue_bookmark where queue_id = $1',
    [queue.id],
  );
  expect(rows).toEqual([{ token: Number(fast[98]?.token) - 1, early: [jobs[0]?.id] }]);
  expect(await inFlight(queue)).toBe(3);
});

it('jobs are found that are due before it, if the clock was set back', async () => {
  const queue = await fixture.createQueue();
  await fixture.publishJobs(queue, 1);
  await moveBookmark(queue);
  await setClock(START - 10 * MINUTE);
  const [id = ''] = await fixture.publishJobs(queue, 1);
  expect((await queuesWithWork(fixture.db, [queue.id])).due).toEqual([queue.id]);
  expect((await fixture.claim(queue, 10)).jobs.map((job) => job.id)).toEqual([id]);
  // The job waits until the clock is where it was. No claim has moved the bookmark in the meantime.
  const [other = ''] = await fixture.publishJobs(queue, 1);
  await setClock(START + MINUTE);
  expect(await checkBookmark(fixture.db, queue.id)).toBe(true);
  expect((await fixture.claim(queue, 10)).jobs.map((job) => job.id)).toContain(other);
});

it('jobs stay visible that were due for long when it moved', async () => {
  const queue = await fixture.createQueue({ concurrency: 1 });
  const [first = '', second = ''] = await fixture.publishJobs(queue, 2);
  const { jobs } = await fixture.claim(queue, 1);
  await setClock(START + 10 * MINUTE);
  await moveBookmark(queue);
  expect(jobs[0]?.id).toBe(first);
  for (const job of jobs) await fixture.settle(job, DELIVERED, START + 10 * MINUTE);
  expect((await fixture.claim(queue, 1)).jobs.map((job) => job.id)).toEqual([second]);
  expect(await checkBookmark(fixture.db, queue.id)).toBe(false);
});

it('it stays behind the begin of transactions that write jobs, and not of those in a copy of the database', async () => {
  const queue = await fixture.createQueue();
  onTestFinished(await changeFunction(fixture.db, 'jobferry_set_bookmark', '15 seconds', '0 seconds'));
  const secondsBehind = async () => {
    await moveBookmark(queue);
    return fixture.db.one(
      'select extract(epoch from set_at - due)::float8 as s from queue_bookmark where queue_id = $1',
      [queue.id],
    );
  };
  const { url } = await createTestDatabase();
  for (const [writer, isBehind] of [
    [await connect(url), false],
    [await connect(fixture.url), true],
  ] as const) {
    await writer.query('begin; lock table job in row exclusive mode');
    expect(await secondsBehind()).toEqual({ s: isBehind ? expect.toSatisfy((s: number) => s > 5) : 0 });
    await writer.query('rollback');
  }
});
