import { expect, it } from 'vitest';
import { futureJobs } from '../../src/db/operator/future-jobs.ts';
import { judgeFutureJobs } from '../../src/domain/doctor-clock.ts';
import { OWN_FAILURES } from '../../src/domain/outcome.ts';
import { expireDeadlines } from '../../src/worker/maintenance/recover.ts';
import { DELIVERED, FAILED, openFixture, takeOverClock } from '../support/database-fixture.ts';
import { blockOf } from '../support/handbook.ts';

const START = Date.UTC(2026, 10, 28, 15);
const HOUR = 3_600_000;
const NONE = { waiting: null, reports: null };

async function openWithClock() {
  const fixture = await openFixture();
  const setClock = await takeOverClock(fixture.db, START);
  /** The statements of the handbook. */
  const release = () => fixture.db.query(blockOf('## A clock was wrong', 'sql'));
  return { ...fixture, setClock, release };
}

it('jobs that were published or tried while the clock was ahead are found, and the handbook makes them due', async () => {
  const { db, createQueue, publishJobs, claim, settle, setClock, release } = await openWithClock();
  const queue = await createQueue({ backoff_delay: 10 });
  await publishJobs(queue, 1);
  const [tried] = (await claim(queue)).jobs;
  if (tried === undefined) throw new Error('no job');
  const [delayed] = await publishJobs(queue, 1, { delayMs: 2 * HOUR });
  await setClock(START + 2 * HOUR);
  await publishJobs(queue, 1);
  expect(await settle(tried, FAILED, START + 2 * HOUR)).toBe(true);
  expect(await futureJobs(db)).toEqual(NONE);

  await setClock(START);
  const until = new Date(START + 2 * HOUR + 10_000);
  const future = { waiting: { jobs: 2, until }, reports: null };
  expect(await futureJobs(db)).toEqual(future);
  expect(judgeFutureJobs(future)).toEqual([
    {
      check: 'clock',
      status: 'warning',
      fix: expect.stringContaining('"A clock was wrong"'),
      what: `2 jobs were published, tried or given back while the database's clock was ahead: waiting until ${until.toISOString()} at the latest`,
    },
  ]);

  // The one that its publisher delayed keeps its time.
  await release();
  expect(await futureJobs(db)).toEqual(NONE);
  const waiting = await db.query('select id from job where scheduled_for > jobferry_now()');
  expect(waiting).toEqual([{ id: delayed }]);
});

it('jobs that came back without an attempt while the clock was ahead are found, and the handbook makes them due', async () => {
  const { db, createQueue, publishJobs, claim, settle, setClock, release } = await openWithClock();
  const queue = await createQueue();
  await publishJobs(queue, OWN_FAILURES.length + 1);
  const { jobs } = await claim(queue);
  // They wait for a later delivery, by a clock that was right.
  const later = await createQueue({ backoff_delay: 3600 });
  await publishJobs(later, 1);
  for (const job of (await claim(later)).jobs) expect(await settle(job, FAILED, START)).toBe(true);

  await setClock(START + 2 * HOUR);
  for (const [n, error] of OWN_FAILURES.entries()) {
    const job = jobs[n];
    if (job === undefined) throw new Error('no job');
    expect(await settle(job, { type: 'unsent', error, waitMs: 5000 })).toBe(true);
  }
  // All leases are over by this clock.
  expect(await expireDeadlines(db, queue.id)).toMatchObject({ nextMs: null });

  await setClock(START);
  const until = new Date(START + 2 * HOUR + 5000);
  expect(await futureJobs(db)).toEqual({ waiting: { jobs: OWN_FAILURES.length + 1, until }, reports: null });
  await release();
  expect(await futureJobs(db)).toEqual(NONE);
  expect((await claim(queue)).jobs).toHaveLength(OWN_FAILURES.length + 1);
  expect((await claim(later)).jobs).toEqual([]);
});

it('reports that are due by a clock that was ahead are found, and the handbook gives them the time of their queue', async () => {
  const { db, createQueue, publishJobs, claim, settle, setClock, release } = await openWithClock();
  const queue = await createQueue({ mode: 'ack', ack_timeout: 300, concurrency: 3 });
  const deliver = async (n: number, at: number) => {
    await setClock(at);
    await publishJobs(queue, n);
    for (const job of (await claim(queue)).jobs) expect(await settle(job, DELIVERED, at)).toBe(true);
  };
  await deliver(1, START);
  await deliver(2, START + 2 * HOUR);
  await setClock(START + 1000);

  const until = new Date(START + 2 * HOUR + 300_000);
  const future = { waiting: null, reports: { jobs: 2, until } };
  expect(await futureJobs(db)).toEqual(future);
  expect(judgeFutureJobs(future)).toMatchObject([
    {
      check: 'clock',
      status: 'warning',
      fix: expect.stringContaining('"A clock was wrong"'),
      what: `2 jobs were sent while the database's clock was ahead: each has a slot of its queue until its report, or until ${until.toISOString()} at the latest`,
    },
  ]);
  await release();
  expect(await futureJobs(db)).toEqual(NONE);
  const deadlines = await db.query('select deadline from job order by deadline');
  expect(deadlines).toEqual([300_000, 301_000, 301_000].map((ms) => ({ deadline: new Date(START + ms) })));
});

it('jobs that are delayed, or wait for a retry, are not read for it', async () => {
  const { db, createQueue, insertJobs, rowsRead } = await openFixture();
  const queue = await createQueue();
  await insertJobs(queue, 3000, 1);
  await db.query(
    `update job set scheduled_for = jobferry_now() + interval '1 day', claimed_at = jobferry_now(), wait_reason = 'backoff',
                    last_error = 'HTTP 500'
      where right(id, 1) < '8'`,
  );
  await db.query(`update job set scheduled_for = jobferry_now() + interval '1 day' where claimed_at is null`);
  await db.query('analyze job');
  expect(await rowsRead(() => futureJobs(db))).toBeLessThan(100);
});
