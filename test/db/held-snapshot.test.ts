import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ackJobs } from '../../src/db/delivery/ack.ts';
import { claim } from '../../src/db/delivery/claim.ts';
import { publishAndClaim } from '../../src/db/delivery/publish.ts';
import { jobsPastLifetime, overdueJobs, queuesPastLifetime } from '../../src/db/delivery/stored-job.ts';
import { nextDeadlineMs, queuesWithWork } from '../../src/db/delivery/wake-ups.ts';
import { checkBookmark, queuesWithBookmarks } from '../../src/db/retention/bookmarks.ts';
import {
  DELIVERED,
  FAILED,
  type Fixture,
  LEASE_MS,
  moveBookmarksIf,
  openFixture,
  PERIODS,
  type TestQueue,
} from '../support/database-fixture.ts';

/**
 * While a transaction holds a snapshot, vacuum removes nothing that has died since. No statement on the way of a job
 * may read the entries of all jobs since then (docs/decisions/0059).
 */

/** Jobs of each queue that end under the snapshot; `npm run test:long` has more. */
const JOBS = Number(process.env.HELD_JOBS ?? 2000);

/** More than are worth an entry each while few jobs have ended since. */
const SLOW_JOBS = 70;
/**
 * Bookmarks lag behind, and 13 times as many of them are replaced here.
 * Without them, each read passes a page for six jobs, or more.
 */
const MORE_PAGES = 160 + 2 * SLOW_JOBS + JOBS / 40;

let fixture: Fixture;
let holder: pg.Client;
let usual: TestQueue;
let limited: TestQueue;
let acked: TestQueue;
let queues: TestQueue[];

beforeAll(async () => {
  fixture = await openFixture();
  // Each connection counts for itself.
  fixture.db.pool.options.max = 1;
  usual = await fixture.createQueue({ backoff_delay: 3600 });
  limited = await fixture.createQueue({ rate_limit_max: 10_000, rate_limit_window: 3600 });
  acked = await fixture.createQueue({ mode: 'ack', ack_timeout: 3600 });
  queues = [usual, limited, acked];
  // Bookmarks stay some seconds behind the clock. So time passes 500 times as fast, and they move more often.
  await fixture.db.query(`
    create or replace function jobferry_now() returns timestamptz language sql volatile as
      $$ select '${new Date().toISOString()}'::timestamptz + 500 * (clock_timestamp() - '${new Date().toISOString()}') $$`);
  await fixture.db.query('create sequence test_claims');
  await moveBookmarksIf(fixture.db, `nextval('test_claims') % 20 < p_jobs`);
  holder = new pg.Client({ connectionString: fixture.url });
  await holder.connect();
});

afterAll(() => holder.end());

/** Jobs that are published, claimed and completed one by one, each in three transactions. */
function passJobs(count: number): Promise<void> {
  return fixture.seed(`
    do $$
    declare q record; j record;
    begin
      for n in 1..${count} loop
        for q in select * from queue loop
          perform jobferry_publish_one(q.account_id, q.name, '{}', 0, null, null, null, '1 day', null, null, null, null);
        end loop;
        commit;
        for q in select * from queue loop
          for j in select * from jobferry_claim_one(q.id, 1, 1000000, null, 1, '1 hour') loop
            perform jobferry_settle_one(j.id, j.claim_token, 1, 200, 5, null);
          end loop;
        end loop;
        commit;
      end loop;
    end $$`);
}

/** Pages of all tables and indexes that it touches. */
async function pagesOf(work: () => Promise<unknown>): Promise<number> {
  const before = await pagesTouched();
  await work();
  return (await pagesTouched()) - before;
}

async function pagesTouched(): Promise<number> {
  await fixture.db.query('select pg_stat_force_next_flush()');
  const row = await fixture.db.one<{ pages: number }>(
    `select sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::float8 as pages
       from pg_statio_user_tables`,
  );
  return row?.pages ?? Number.NaN;
}

function publishOne(queue: TestQueue, count: number, workerId: number | null): Promise<unknown> {
  const item = { accountId: fixture.accountId, queue: queue.name, payload: '{}', key: null, delayMs: 0, limit: 1e9 };
  const items = Array.from({ length: count }, () => ({ ...item, claimable: workerId === null ? undefined : true }));
  const reserved = [{ queueId: queue.id, jobs: count, since: null }];
  const atOnce = workerId === null ? null : { workerId, leaseMs: LEASE_MS, queues: reserved };
  return publishAndClaim(fixture.db, items, PERIODS, atOnce);
}

async function settleAll(queue: TestQueue, event: typeof DELIVERED, capacity = 10): Promise<void> {
  const { jobs } = await fixture.claim(queue, capacity);
  expect(jobs.length).toBeGreaterThan(0);
  for (const job of jobs) expect(await fixture.settle(job, event)).toBe(true);
}

/** In this order: some leave jobs for those after them. */
const WORK: readonly [what: string, work: () => Promise<unknown>][] = [
  ['publishes that claim', () => publishOne(usual, 1, 1)],
  ['publishes of a batch that claim', () => publishOne(usual, 2, 1)],
  [
    'publishes',
    async () => {
      for (const queue of queues) await publishOne(queue, 2, null);
    },
  ],
  ['a claim and its success', () => settleAll(usual, DELIVERED, 1)],
  ['a claim and its failure', () => settleAll(usual, FAILED, 1)],
  [
    'a claim of several queues',
    async () => {
      for (const queue of queues) await publishOne(queue, 1, null);
      const limits = queues.map(({ id }) => ({ queueId: id, jobs: 1, bytes: 1_000_000, since: null }));
      const claims = await claim(fixture.db, { limits, workerId: 1, leaseMs: LEASE_MS });
      expect([...claims.values()].flatMap(({ jobs }) => jobs)).toHaveLength(3);
    },
  ],
  ['a claim within a rate limit', () => settleAll(limited, DELIVERED)],
  [
    'acks',
    async () => {
      const { jobs } = await fixture.claim(acked);
      for (const job of jobs) await fixture.settle(job, DELIVERED);
      const asked = jobs.map(({ id }) => ({ id, accountId: fixture.accountId, attempt: undefined }));
      expect(await ackJobs(fixture.db, asked)).toHaveLength(jobs.length);
    },
  ],
  [
    'the reconciler',
    () =>
      queuesWithWork(
        fixture.db,
        queues.map(({ id }) => id),
      ),
  ],
  ['the next deadline', () => nextDeadlineMs(fixture.db, usual.id)],
  ['the search for passed deadlines', () => overdueJobs(fixture.db, acked.id, 10)],
  [
    'the search for ended lifetimes',
    async () => {
      await queuesPastLifetime(
        fixture.db,
        queues.map(({ id }) => id),
      );
      await jobsPastLifetime(
        fixture.db,
        queues.map(({ id }) => id),
        10,
      );
    },
  ],
];

it('no statement on the way of a job reads more while a snapshot is held', { timeout: 600_000 }, async () => {
  // Jobs that stay in flight, and one that waits for long.
  await fixture.publishJobs(usual, SLOW_JOBS);
  await fixture.claim(usual, SLOW_JOBS);
  await fixture.publishJobs(usual, 1, { delayMs: 20 * 3_600_000 });
  await passJobs(40);
  await fixture.seed('vacuum analyze');
  const pages = new Map<string, number>();
  for (const [what, work] of WORK) pages.set(what, await pagesOf(work));
  await holder.query('begin isolation level repeatable read');
  await holder.query('select from job limit 1');
  await passJobs(JOBS / 2);
  // All statements are planned again.
  await fixture.seed('vacuum analyze');
  await passJobs(JOBS / 2);
  const grown: [string, number, number][] = [];
  for (const [what, work] of WORK) {
    const before = pages.get(what) ?? Number.NaN;
    const after = await pagesOf(work);
    if (!(after < before + MORE_PAGES)) grown.push([what, before, after]);
  }
  expect(grown).toEqual([]);
  for (const { id } of queues) expect(await checkBookmark(fixture.db, id)).toBe(false);
});

it('a bookmark that jobs are before is deleted', async () => {
  await fixture.seed(`update queue_bookmark set due = due + interval '1 day' where queue_id = '${usual.id}'`);
  expect(await queuesWithBookmarks(fixture.db, '', 10)).toEqual(queues.map(({ id }) => id));
  expect(await checkBookmark(fixture.db, usual.id)).toBe(true);
  expect(await queuesWithBookmarks(fixture.db, '', 10)).toEqual([limited.id, acked.id]);
});
