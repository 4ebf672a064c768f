import { expect, it } from 'vitest';
import { futureJobs } from '../../src/db/operator/future-jobs.ts';
import { judgeFutureJobs } from '../../src/domain/doctor-clock.ts';
import { openFixture, takeOverClock } from '../support/database-fixture.ts';
import { blockOf } from '../support/handbook.ts';

const START = Date.UTC(2026, 10, 28, 15);
const HOUR = 3_600_000;

it('jobs that were published or tried while the clock was ahead are found, and the handbook makes them due', async () => {
  const { db, createQueue, publishJobs } = await openFixture();
  const setClock = await takeOverClock(db, START);
  const queue = await createQueue();
  const [tried = ''] = await publishJobs(queue, 1);
  await publishJobs(queue, 1, { delayMs: 2 * HOUR });
  await setClock(START + 2 * HOUR);
  await publishJobs(queue, 1);
  await db.query(
    `insert into attempt (job_id, ordinal, attempt, "timestamp", status, queue_id)
     values ($1, 1, 1, jobferry_now(), 'failed', $2)`,
    [tried, queue.id],
  );
  await db.query(
    `update job set scheduled_for = jobferry_now() + interval '10 s', wait_reason = 'backoff' where id = $1`,
    [tried],
  );
  expect(await futureJobs(db)).toEqual({ jobs: 0, until: null });

  await setClock(START);
  const until = new Date(START + 2 * HOUR + 10_000);
  expect(await futureJobs(db)).toEqual({ jobs: 2, until });
  expect(judgeFutureJobs({ jobs: 2, until })).toEqual([
    {
      ...{ check: 'clock', status: 'warning', fix: expect.stringContaining('"A clock was wrong"') },
      what: `2 jobs were published or tried while the database's clock was ahead: waiting until ${until.toISOString()} at the latest`,
    },
  ]);

  // The one that its publisher delayed keeps its time.
  await db.query(blockOf('### A clock was wrong', 'sql'));
  expect(await futureJobs(db)).toEqual({ jobs: 0, until: null });
  const due = await db.query('select from job where scheduled_for <= jobferry_now()');
  expect(due).toHaveLength(2);
});
