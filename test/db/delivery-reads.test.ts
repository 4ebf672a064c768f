import { beforeAll, describe, expect, it } from 'vitest';
import { ackJobs } from '../../src/db/delivery/ack.ts';
import { DELIVERED, type Fixture, openFixture, type TestQueue } from '../support/database-fixture.ts';

/**
 * A delivery must not cost more because of what waits behind it: the server's own counter shows how many rows are read.
 */
const WAITING = 5000;

let fixture: Fixture;
let busy: TestQueue;
let late: TestQueue;
let retrying: TestQueue;

beforeAll(async () => {
  fixture = await openFixture();
  const { db } = fixture;
  // Each connection has counters and plans of its own.
  db.pool.options.max = 1;
  await db.query('alter table job set (autovacuum_enabled = off)');
  [busy, late, retrying] = [await fixture.createQueue(), await fixture.createQueue(), await fixture.createQueue()];
  // A session keeps the plans that it made for the first deliveries of a new database.
  await fixture.publishJobs(busy, 200);
  for (const job of (await fixture.claim(busy, 12)).jobs) await fixture.settle(job, DELIVERED);
  for (let n = 0; n < 8; n += 1)
    for (const job of (await fixture.claim(busy, 1)).jobs) await fixture.settle(job, DELIVERED);
  await fixture.insertJobs(busy, WAITING, 1);
  await fixture.insertJobs(late, WAITING, 30);
  await fixture.insertJobs(late, 100, 1);
  // Older jobs wait for a retry: their lifetime ends before that of the jobs that are due.
  await fixture.insertJobs(retrying, 1000, 20);
  await db.query(`update job set scheduled_for = jobferry_now() + interval '1 hour' where queue_id = $1`, [
    retrying.id,
  ]);
  await fixture.insertJobs(retrying, 1000, 30);
  await fixture.insertJobs(retrying, 100, 1);
});

it('reads little with the plans of the first deliveries', async () => {
  for (let round = 0; round < 10; round += 1) {
    const read = await fixture.rowsRead(async () => {
      for (const job of (await fixture.claim(busy, 1)).jobs) await fixture.settle(job, DELIVERED);
    });
    expect(read, `round ${round}`).toBeLessThan(50);
  }
});

describe.each(['as it was never analysed', 'analysed'])('a table %s', (state) => {
  beforeAll(async () => {
    if (state === 'analysed') await fixture.db.query('analyze');
  });

  it.each(['force_generic_plan', 'auto'])('reads what it delivers and little more, %s', async (mode) => {
    const { db } = fixture;
    await db.query(`set plan_cache_mode = ${mode}`);
    await db.query('discard plans');
    for (let round = 0; round < 10; round += 1) {
      let jobs: Awaited<ReturnType<Fixture['claim']>>['jobs'] = [];
      const claimed = await fixture.rowsRead(async () => {
        jobs = (await fixture.claim(busy, 10)).jobs;
        expect(jobs).toHaveLength(10);
      });
      expect(claimed, `claim, round ${round}`).toBeLessThan(120);
      const [first] = jobs;
      if (first === undefined) throw new Error('nothing was claimed');
      const settled = await fixture.rowsRead(async () => expect(await fixture.settle(first, DELIVERED)).toBe(true));
      expect(settled, `settle, round ${round}`).toBeLessThan(20);
      for (const job of jobs.slice(1)) await fixture.settle(job, DELIVERED);
    }
  });

  it.each([
    ['force_generic_plan', 'those past their lifetime', () => late],
    ['auto', 'those past their lifetime', () => late],
    ['force_generic_plan', 'those that wait for a retry, too', () => retrying],
    ['auto', 'those that wait for a retry, too', () => retrying],
  ])('finds jobs in time, %s, behind %s', async (mode, _others, queue) => {
    const { db } = fixture;
    await db.query(`set plan_cache_mode = ${mode}`);
    await db.query('discard plans');
    for (let round = 0; round < 10; round += 1) {
      const read = await fixture.rowsRead(async () => {
        const { jobs, now } = await fixture.claim(queue(), 2);
        expect(jobs.map(({ state: { deliverBy } }) => deliverBy > now)).toEqual([true, true]);
        for (const job of jobs) await fixture.settle(job, DELIVERED);
      });
      expect(read, `round ${round}`).toBeLessThan(1500);
    }
  });
});

it('ends a delivery without reading the others in flight, if none were when the table was analysed', async () => {
  const { db, accountId } = fixture;
  const [acked, standard] = [await fixture.createQueue({ mode: 'ack' }), await fixture.createQueue()];
  await db.query('analyze');
  await db.query('discard plans');
  for (const queue of [acked, standard]) await fixture.publishJobs(queue, 200);
  const awaiting = (await fixture.claim(acked, 200)).jobs;
  for (const job of awaiting) await fixture.settle(job, DELIVERED);
  const { jobs } = await fixture.claim(standard, 200);
  for (let n = 0; n < 10; n += 1) {
    const [delivered, reported] = [jobs[n], awaiting[n]];
    if (delivered === undefined || reported === undefined) throw new Error('too few claims');
    expect(await fixture.rowsRead(() => fixture.settle(delivered, DELIVERED))).toBeLessThan(20);
    const ack = { id: reported.id, accountId, attempt: undefined };
    expect(await fixture.rowsRead(() => ackJobs(db, [ack]))).toBeLessThan(20);
  }
});

it('queries again soon while nothing is in time', async () => {
  for (;;) {
    const { jobs, waitMs } = await fixture.claim(late, 50);
    for (const job of jobs) await fixture.settle(job, DELIVERED);
    if (jobs.length > 0) continue;
    expect(waitMs).toBe(250);
    break;
  }
});
