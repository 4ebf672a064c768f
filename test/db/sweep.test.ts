import { beforeAll, beforeEach, expect, it } from 'vitest';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Sweeper } from '../../src/worker/maintenance/sweeper.ts';
import { countedSince } from '../support/counted.ts';
import { connect } from '../support/database.ts';
import {
  type Fixture,
  LIFETIME_MS,
  openFixture,
  PERIODS,
  RETENTION_MS,
  type TestQueue,
} from '../support/database-fixture.ts';

/** More than two batches. */
const OLD = 1100;
const HOUR = 3_600_000;
/** Between what is past its time and what is not: longer than a test takes on a busy machine. */
const MARGIN = 600_000;

let fixture: Fixture;
let queue: TestQueue;
beforeAll(async () => {
  fixture = await openFixture();
  queue = await fixture.createQueue();
});
beforeEach(async () => {
  for (const table of ['job', 'attempt', 'follower']) await fixture.db.query(`delete from ${table}`);
});

/**
 * As many jobs published so long ago, a millisecond apart, with an attempt each; returns their ids, oldest first.
 * @param endedMsAgo when they were completed; null when they have not ended
 */
async function jobsOf(count: number, ageMs: number, endedMsAgo: number | null = ageMs): Promise<string[]> {
  const rows = await fixture.db.query<{ id: string }>(
    `with made as (
       insert into job (id, account_id, queue_id, status, attempts, max_attempts, backoff_type, backoff_delay, payload,
                        scheduled_for, deliver_by, created_at, completed_at)
       select jobferry_id(at), $1, $2, case when $5::float8 is null then 'pending' else 'completed' end, 1, 3, 'fixed', 1,
              '{}', at, at, at, jobferry_now() - $5::float8 * interval '1 ms'
         from generate_series(1, $3::integer) n,
              lateral (select jobferry_now() - ($4::float8 - n) * interval '1 ms' as at) t
       returning id
     ), attempts as (
       insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
       select id, 1, $2, 1, 'success', now() from made
     )
     select id from made order by id`,
    [fixture.accountId, queue.id, count, ageMs, endedMsAgo],
  );
  return rows.map(({ id }) => id);
}

interface SweepOptions {
  now?: () => number | null;
  /** How long ago the last one must have been. */
  everyMs?: number;
  /** Whether no later release has migrated the database. */
  knowsAll?: () => boolean;
}

function createSweeper({ now = () => Date.now(), everyMs = 0, knowsAll = () => true }: SweepOptions = {}) {
  const release = {
    get knowsAll() {
      return knowsAll();
    },
  };
  const log = createLog({ level: 'fatal' });
  const reports: unknown[] = [];
  log.info = ((report: unknown) => reports.push(report)) as typeof log.info;
  return { sweeper: new Sweeper(fixture.db, log, { clock: { now }, release, periods: PERIODS, everyMs }), reports };
}

async function sweep(options: SweepOptions = {}): Promise<void> {
  await createSweeper(options).sweeper.run();
}

async function left(): Promise<{ jobs: string[]; attempts: string[] }> {
  const jobs = await fixture.db.query<{ id: string }>('select id from job order by id');
  const attempts = await fixture.db.query<{ id: string }>('select job_id as id from attempt order by job_id');
  return { jobs: jobs.map(({ id }) => id), attempts: attempts.map(({ id }) => id) };
}

it('removes all that is past retention, batch after batch, and leaves locked rows to the next sweep', async () => {
  const kept = await jobsOf(3, RETENTION_MS - MARGIN);
  const old = await jobsOf(OLD, RETENTION_MS + MARGIN);
  const held = [old[0], old[700]] as [string, string];
  const holder = await connect(fixture.url);
  await holder.query('begin');
  await holder.query('select from job where id = any ($1) for update', [held]);
  const { sweeper, reports } = createSweeper();
  const counted = countedSince(counts.removed, 'jobs');
  await sweeper.run();
  expect(counted()).toBe(OLD - 2);
  expect(reports).toEqual([{ removed: expect.objectContaining({ jobs: OLD - 2 }), ms: expect.any(Number) }]);
  await holder.query('rollback');
  const before = [...held, ...kept].sort();
  expect(await left()).toEqual({ jobs: before, attempts: before });
  await sweep();
  expect(await left()).toEqual({ jobs: kept, attempts: kept });
});

it('ends between two batches when a later release has migrated the database, and leaves the rest to that release', async () => {
  await jobsOf(OLD, RETENTION_MS + MARGIN);
  let checks = 0;
  // Known at the start, at the begin of the part, and before its first batch.
  await sweep({ knowsAll: () => ++checks <= 3 });
  const { jobs } = await left();
  expect(jobs.length).toBeGreaterThan(0);
  expect(jobs.length).toBeLessThan(OLD);
  await sweep({ knowsAll: () => false });
  expect((await left()).jobs).toEqual(jobs);
  await sweep();
  expect((await left()).jobs).toEqual([]);
});

it('removes only what has ended, and what ended after its retention a lifetime later', async () => {
  const waiting = await jobsOf(2, RETENTION_MS + 90 * HOUR, null);
  const lately = await jobsOf(2, RETENTION_MS + 80 * HOUR, LIFETIME_MS - MARGIN);
  await jobsOf(2, RETENTION_MS + 70 * HOUR, LIFETIME_MS + MARGIN);
  // In time, if only just.
  await jobsOf(2, RETENTION_MS + HOUR, HOUR + MARGIN);
  const kept = [...waiting, ...lately].sort();
  await sweep();
  expect((await left()).jobs).toEqual(kept);
  await fixture.db.query(
    `update job set status = 'dead', dead_reason = 'cancelled', dead_at = jobferry_now() - $2::float8 * interval '1 ms'
      where id = $1`,
    [waiting[0], LIFETIME_MS - MARGIN],
  );
  await sweep();
  expect((await left()).jobs).toEqual(kept);
  await sweep({ now: () => Date.now() + 2 * MARGIN });
  expect((await left()).jobs).toEqual([waiting[1]]);
});

it('removes a job that ends after it was checked, although no later job has passed retention', async () => {
  await jobsOf(2, RETENTION_MS + 2 * HOUR, null);
  await sweep();
  await fixture.db.query(
    `update job set status = 'dead', dead_reason = 'cancelled', dead_at = created_at + $1::float8 * interval '1 ms'`,
    [RETENTION_MS - HOUR],
  );
  await sweep();
  expect((await left()).jobs).toEqual([]);
});

it('does not read all that has not ended again and again', async () => {
  await jobsOf(25_000, RETENTION_MS + HOUR, null);
  await fixture.db.query('analyze');
  const rowsRead = async () => {
    const text = `select coalesce(sum(idx_tup_fetch), 0)::int as rows from pg_stat_user_tables where relname = 'job'`;
    const row = await fixture.db.one<{ rows: number }>(text);
    return row?.rows ?? 0;
  };
  const sweepCounted = async () => {
    const before = await rowsRead();
    await sweep();
    // Each connection reports its reads to the server at times of its own, unless it is forced to.
    await fixture.flushCounters();
    return (await rowsRead()) - before;
  };
  await fixture.flushCounters();
  expect(await sweepCounted()).toBeGreaterThanOrEqual(25_000);
  // The bound of what is looked at again, and a batch.
  expect(await sweepCounted()).toBeLessThanOrEqual(20_500);
  expect((await left()).jobs).toHaveLength(25_000);
});

it('goes by a clock that is trusted, and ends when it no longer is', async () => {
  await jobsOf(OLD, RETENTION_MS + MARGIN);
  await sweep({ now: () => null });
  expect((await left()).jobs).toHaveLength(OLD);
  // The database's own clock does not count.
  await sweep({ now: () => Date.now() - HOUR });
  expect((await left()).jobs).toHaveLength(OLD);
  let looks = 0;
  await sweep({ now: () => (++looks <= 3 ? Date.now() : null) });
  expect((await left()).jobs).toHaveLength(OLD - 500);
});

it('is done by one process at a time, however long it takes, and not more often than its period', async () => {
  await jobsOf(OLD, RETENTION_MS + MARGIN);
  const other = createSweeper();
  let others: Promise<void> | null = null;
  let looks = 0;
  const first = createSweeper({
    now: () => {
      looks += 1;
      if (looks === 3) others = other.sweeper.run();
      return Date.now();
    },
  });
  await first.sweeper.run();
  expect(others).not.toBeNull();
  await others;
  expect(first.reports).toHaveLength(1);
  expect(other.reports).toEqual([]);
  await jobsOf(1, RETENTION_MS + MARGIN);
  await sweep({ everyMs: HOUR });
  expect((await left()).jobs).toHaveLength(1);
  await other.sweeper.run();
  expect(await left()).toEqual({ jobs: [], attempts: [] });
});

it('stops between two batches with its process, and goes on with the next', async () => {
  await jobsOf(OLD, RETENTION_MS + MARGIN);
  let looks = 0;
  const { sweeper } = createSweeper({
    now: () => {
      looks += 1;
      if (looks === 3) sweeper.stop();
      return Date.now();
    },
  });
  await sweeper.run();
  expect((await left()).jobs).toHaveLength(OLD - 500);
  await sweep();
  expect((await left()).jobs).toEqual([]);
});
