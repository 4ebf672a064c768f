import { beforeAll, describe, expect, it } from 'vitest';
import { indexedCases, type Seen } from '../../rigs/plans/indexed-cases.ts';
import { nextReplayable } from '../../src/db/bulk/selection.ts';
import { type QueuePart, queueNow } from '../../src/db/insight/queue-now.ts';
import { totalStats } from '../../src/db/insight/statistics.ts';
import { sweepDeadLetters } from '../../src/db/retention/sweep.ts';
import { countAttempts, searchAttempts } from '../../src/db/search/attempts.ts';
import { errorGroups, errorGroupsAcrossQueues } from '../../src/db/search/error-groups.ts';
import {
  DELIVERED,
  type Fixture,
  openFixture,
  PERIODS,
  RETENTION_MS,
  type TestQueue,
} from '../support/database-fixture.ts';

/**
 * With a long backlog no statement of the delivery path may read the whole job table. The server's
 * own counter shows it: it also sees what runs inside the SQL functions.
 */
let fixture: Fixture;
let queue: TestQueue;
/** Another one with as many jobs. */
let neighbour: TestQueue;
let anyJob = '';

beforeAll(async () => {
  fixture = await openFixture();
  // Each connection counts for itself and reports to the server at times of its own, unless it is forced to.
  fixture.db.pool.options.max = 1;
  fixture.db.readingPool.options.max = 1;
  const { db, accountId } = fixture;
  for (let i = 0; i < 10; i += 1) {
    neighbour = queue;
    queue = await fixture.createQueue();
    await fixture.seed(
      `insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, idempotency_key,
                        payload, scheduled_for, deliver_by, created_at, completed_at, dead_reason)
       select jobferry_id(at), $1, $2, status, 3, 'fixed', 0, case when status = 'pending' then 'key-' else status end || n, '{}', at, at + interval '1 day', at,
              case when status = 'completed' then at end, case when status = 'dead' then 'nacked' end
         from unnest(array['pending', 'completed', 'dead']) as status,
              (select n, jobferry_now() - n * interval '1 s' as at from generate_series(1, 700) n) s`,
      [accountId, queue.id],
    );
  }
  await fixture.seed(`
    insert into dead_letter (id, job_id, queue_id, reason, fingerprint, dead_at)
    select jobferry_id(created_at), id, queue_id, 'nacked', '', created_at from job where status = 'dead'`);
  await fixture.seed(`
    insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
    select id, 1, queue_id, 1, 'failed', created_at from job where status <> 'pending'`);
  const other = await fixture.createQueue();
  await fixture.publishJobs(other, 200);
  await fixture.claim(other, 200);
  // Plans depend on statistics, which must not change while plans are compared.
  for (const table of ['job', 'attempt', 'dead_letter']) {
    await db.query(`alter table ${table} set (autovacuum_enabled = off)`);
  }
  await fixture.seed('analyze');
  anyJob = (await db.one<{ id: string }>('select id from job order by id limit 1'))?.id ?? '';
});

async function sequentialScans(): Promise<number> {
  const { db } = fixture;
  await db.query('select pg_stat_force_next_flush()');
  const row = await db.one<{ scans: number }>(
    `select sum(seq_scan)::int as scans from pg_stat_user_tables where relname in ('job', 'attempt', 'dead_letter')`,
  );
  return row?.scans ?? -1;
}

const seen = (): Seen => {
  const q = { completed: queue, pending: neighbour, dead: queue, paused: queue, small: queue };
  return { fixture, db: fixture.db, q, jobId: anyJob, replays: 10 };
};

const CASES = [
  ...indexedCases(seen).map(([name, , work]) => [name, work] as const),
  ['dead letters of a deleted queue', () => sweepDeadLetters(fixture.db, queue.id)] as const,
  [
    'a batch of a bulk replay',
    () => {
      const { accountId } = fixture;
      const selection = { accountId, queueId: queue.id, filter: {}, jobs: null, periods: PERIODS };
      return nextReplayable(fixture.db, selection, { after: '', before: 'g', limit: 500 });
    },
  ] as const,
];

function deadLetters() {
  return { accountId: fixture.accountId, windowMs: RETENTION_MS, periods: PERIODS };
}

describe('with 21 000 jobs', () => {
  it('the counter sees a statement that reads the whole table', async () => {
    const before = await sequentialScans();
    await fixture.db.query(`select count(*) from job where payload = 'x'`);
    expect(await sequentialScans()).toBe(before + 1);
  });

  it.each(CASES)('%s reads by index', async (_name, work) => {
    const before = await sequentialScans();
    // The plans that a session keeps from the sixth time on count as well.
    for (let i = 0; i < 7; i += 1) await work();
    expect(await sequentialScans()).toBe(before);
  });

  it('a claim and a settle do not read what the queue has delivered before', async () => {
    const old = await fixture.createQueue();
    await fixture.db.query(
      `insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload,
                        scheduled_for, deliver_by, created_at)
       select jobferry_id(at), $1, $2, 3, 'fixed', 0, '{}', at, at + interval '1 day', at
         from (select jobferry_now() - interval '1 hour' + n * interval '1 ms' as at
                 from generate_series(1, 30000) n order by n) s`,
      [fixture.accountId, old.id],
    );
    await fixture.db.query('vacuum analyze job');
    // The planner still takes them for jobs that wait.
    await fixture.db.query(
      `update job set status = 'completed', completed_at = created_at
        where id in (select id from job where queue_id = $1 order by id limit 5000)`,
      [old.id],
    );
    const before = await rowsRead();
    for (let round = 0; round < 10; round += 1) {
      const { jobs } = await fixture.claim(old, 1);
      for (const job of jobs) expect(await fixture.settle(job, DELIVERED)).toBe(true);
    }
    expect((await rowsRead()) - before).toBeLessThan(2000);
  });

  it('the statistics of queues are read without those of other queues', async () => {
    const { db, accountId } = fixture;
    // In the order of time, as the roll-up writes them.
    await fixture.seed(
      `insert into queue_stats (queue_id, bucket, durations, waits)
       select queue_id, jobferry_bucket(jobferry_now()) - n * interval '300 s', array_fill(1, array[32]), array_fill(1, array[32])
         from (select 'other ' || n as queue_id from generate_series(1, 500) n union all
               select id from queue where account_id = $1) queues, generate_series(288, 1, -1) n
        order by n desc
       on conflict do nothing`,
      [accountId],
    );
    await fixture.seed('analyze queue_stats');
    const ids = (await db.query<{ id: string }>('select id from queue where account_id = $1', [accountId])).map(
      ({ id }) => id,
    );
    expect(ids.length).toBeGreaterThanOrEqual(11);
    const startMs = Math.floor(Date.now() / 300_000) * 300_000 - 86_400_000;
    const grid = { startMs, bucketMs: 300_000, count: 300 };
    const range = { from: new Date(startMs), to: new Date(startMs + 90_000_000) };
    for (const read of [
      () => queueNow(db, accountId, ids, { parts: new Set<QueuePart>(['attempts']), range }, PERIODS),
      () => totalStats(db, accountId, ids, grid, RETENTION_MS),
    ]) {
      const before = await rowsRead('queue_stats');
      await read();
      expect((await rowsRead('queue_stats')) - before).toBeLessThan(ids.length * 300);
    }
  });

  it('the attempts of an account with few jobs are read without those of others at the same time', async () => {
    const row = await fixture.db.one<{ id: string; queue_id: string }>(
      `with quiet as (insert into account (name, plan) values ('quiet', 'pro') returning id)
       insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                          mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
       select id, 'quiet', 'http://127.0.0.1:9/', 's', 3, 50, 5, true, 'standard', 60, 300, 'retry', 'fixed', 2 from quiet
       returning account_id as id, id as queue_id`,
    );
    const [accountId, queueId] = [row?.id ?? '', row?.queue_id ?? ''];
    await fixture.db.query(
      `with made as (
         insert into job (account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for, deliver_by,
                          created_at)
         select $1, $2, 3, 'fixed', 0, '{}', now, now + interval '1 day', now
           from (select jobferry_now() as now) clock, generate_series(1, 3)
         returning id, queue_id, created_at
       )
       insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
       select id, 1, queue_id, 1, 'failed', created_at from made`,
      [accountId, queueId],
    );
    await fixture.db.query('analyze attempt');
    const before = await rowsRead('attempt');
    const newestFirst = { field: 'ended_at', descending: true } as const;
    const scope = { accountId, windowMs: RETENTION_MS, periods: PERIODS };
    const found = await searchAttempts(fixture.db, scope, {}, newestFirst, { limit: 10, inverted: false });
    expect(found).toHaveLength(3);
    expect(await countAttempts(fixture.db, scope, {}, newestFirst, 100)).toBe(3);
    expect((await rowsRead('attempt')) - before).toBeLessThan(20);
  });

  it('the attempts of an account with many jobs are read in the order of time', async () => {
    const scope = { accountId: fixture.accountId, windowMs: RETENTION_MS, periods: PERIODS };
    for (const [descending, direction] of [
      [true, 'desc'],
      [false, 'asc'],
    ] as const) {
      const order = { field: 'ended_at', descending } as const;
      const expected = await fixture.db.query(
        `select a.job_id as id from attempt a join queue q on q.id = a.queue_id where q.account_id = $1
          order by a."timestamp" ${direction}, a.job_id ${direction} limit 50`,
        [fixture.accountId],
      );
      const found = await searchAttempts(fixture.db, scope, {}, order, { limit: 50, inverted: false });
      expect(found.map(({ id }) => ({ id }))).toEqual(expected);
    }
    const byTime = { field: 'ended_at', descending: true } as const;
    expect(await countAttempts(fixture.db, scope, {}, byTime, 10_000)).toBe(10_001);
  });

  it.each([
    ['of each queue', errorGroups],
    ['across queues', errorGroupsAcrossQueues],
  ])(
    'error groups by answer %s read the dead letters of a cause once, and not for each answer',
    async (_what, groups) => {
      const many = await fixture.createQueue();
      await fixture.db.query(
        `with died as (
         insert into job (account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, payload, scheduled_for,
                          deliver_by, created_at, dead_reason)
         select account_id, id, 'dead', 3, 'fixed', 0, '{}', now, now + interval '1 day', now, 'nacked'
           from queue, (select jobferry_now() as now) clock, generate_series(1, 1000) where id = $1
         returning id, queue_id, created_at
       )
       insert into dead_letter (job_id, queue_id, reason, fingerprint, answer, dead_at)
       select id, queue_id, 'nacked', 'one cause', 'answer ' || id, created_at from died`,
        [many.id],
      );
      await fixture.db.query('analyze dead_letter');
      const before = await rowsRead('dead_letter');
      const options = { limit: 100, byAnswer: true, newSince: new Date(0) };
      const found = await groups(fixture.db, deadLetters(), { queueIds: [many.id] }, options);
      expect(found).toHaveLength(100);
      // A few times, as the plan has it; not a hundred times.
      expect((await rowsRead('dead_letter')) - before).toBeLessThan(30_000);
    },
  );
});

/** Rows of a table that were read. */
async function rowsRead(table: 'job' | 'dead_letter' | 'attempt' | 'queue_stats' = 'job'): Promise<number> {
  for (const pool of [fixture.db.pool, fixture.db.readingPool]) await pool.query('select pg_stat_force_next_flush()');
  const row = await fixture.db.one<{ rows: string }>(
    'select idx_tup_fetch + seq_tup_read as rows from pg_stat_user_tables where relname = $1',
    [table],
  );
  return Number(row?.rows);
}
