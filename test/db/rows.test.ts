import { beforeAll, expect, it } from 'vitest';
import { createPrisma, type PrismaClient } from '../../src/db/connection/prisma.ts';
import { queueNow } from '../../src/db/insight/queue-now.ts';
import { jobRows, lastAttemptsOfJobs } from '../../src/db/jobs/rows.ts';
import { deadLetterRows } from '../../src/db/search/dead-letters.ts';
import { errorGroups } from '../../src/db/search/error-groups.ts';
import {
  DELIVERED,
  FAILED,
  type Fixture,
  openFixture,
  PERIODS,
  RETENTION_MS,
  type TestQueue,
} from '../support/database-fixture.ts';

/** Rows that come as JSON have the same fields and types as those that Prisma reads. */
let fixture: Fixture;
let prisma: PrismaClient;
let queue: TestQueue;
let ids: string[];

const ALL = { queue: true, deadLetter: true, waiting: true, cancelledBy: true };
const NO_SECRETS = { signingSecret: true, nextSigningSecret: true };

beforeAll(async () => {
  fixture = await openFixture();
  prisma = createPrisma(fixture.db);
  queue = await fixture.createQueue({ max_attempts: 1, rate_limit_max: 100 });
  await fixture.publishJobs(queue, 4);
  const { jobs } = await fixture.claim(queue, 3);
  // The third one stays in flight.
  for (const [n, event] of [DELIVERED, FAILED].entries()) {
    const job = jobs[n];
    if (job !== undefined) await fixture.settle(job, event);
  }
  await fixture.db.query(
    `update queue set hold_until = jobferry_now() + interval '1 hour', hold_since = jobferry_now(), paused_at = jobferry_now(),
                      paused_by = 'test', hold_job_id = 'a', next_signing_secret = 's', next_signing_secret_at = jobferry_now()
      where id = $1`,
    [queue.id],
  );
  ids = (await fixture.db.query<{ id: string }>('select id from job order by id')).map(({ id }) => id);
  return () => prisma.$disconnect();
});

const scope = () => ({ accountId: fixture.accountId, windowMs: RETENTION_MS, periods: PERIODS });

it('rows of jobs, with their queues and dead letters, are those that Prisma reads', async () => {
  const rows = await jobRows(fixture.db, fixture.accountId, ids, ALL);
  const omit = { payload: true, answerBody: true, claimToken: true };
  expect(rows.jobs.sort((one, other) => (one.id < other.id ? -1 : 1))).toEqual(
    await prisma.job.findMany({ omit, orderBy: { id: 'asc' } }),
  );
  expect(rows.jobs.map(({ status }) => status).sort()).toEqual(['completed', 'dead', 'pending', 'processing']);
  expect(rows.queues).toEqual(await prisma.queue.findMany({ where: { id: queue.id }, omit: NO_SECRETS }));
  expect(rows.deadLetters).toEqual(await prisma.deadLetter.findMany());
  expect(rows.deadLetters).toHaveLength(1);
  expect(rows.waiting).toMatchObject([{ job: { scheduledFor: expect.any(Date) }, queue: { paused: { by: 'test' } } }]);
  const none = { queue: false, deadLetter: false, waiting: false, cancelledBy: false };
  expect(await jobRows(fixture.db, fixture.accountId, ids, none)).toEqual({
    jobs: expect.arrayContaining(rows.jobs),
    queues: [],
    deadLetters: [],
    waiting: [],
    cancellations: [],
  });
  expect(await jobRows(fixture.db, 'another account', ids, ALL)).toMatchObject({
    jobs: [],
    queues: [],
    deadLetters: [],
  });
});

it('rows of queues, with their state, are those that Prisma reads', async () => {
  const found = await queueNow(fixture.db, fixture.accountId, [queue.id], { parts: new Set(['row', 'use']) }, PERIODS);
  const [row] = await prisma.queue.findMany({ where: { id: queue.id }, omit: NO_SECRETS });
  expect(found.get(queue.id)?.row).toEqual(row);
  expect(found.get(queue.id)?.holdJobs).toEqual({ askedBy: null, probe: null });
});

it('rows of dead letters, of samples and of their last attempts are those that Prisma reads', async () => {
  const letters = await prisma.deadLetter.findMany();
  expect(await deadLetterRows(fixture.db, scope(), {}, { ascending: false, limit: 5 })).toEqual(letters);
  const options = { limit: 5, byAnswer: false, withAttempts: true };
  const [group] = await errorGroups(fixture.db, scope(), {}, options);
  const attempts = await prisma.attempt.findMany({ where: { jobId: letters[0]?.jobId ?? '' } });
  expect(group).toMatchObject({ sample: letters[0], lastAttempt: attempts[0] });
  expect(await lastAttemptsOfJobs(fixture.db, fixture.accountId, ids)).toEqual(
    expect.arrayContaining(await prisma.attempt.findMany()),
  );
  expect(await lastAttemptsOfJobs(fixture.db, 'another account', ids)).toEqual([]);
});
