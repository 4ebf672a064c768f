import fc from 'fast-check';
import pg from 'pg';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { indexAttempts, rollUp } from '../../src/db/insight/statistics.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import { mergeHistograms } from '../../src/domain/histogram.ts';
import { connect } from '../support/database.ts';
import {
  DELIVERED,
  FAILED,
  type Fixture,
  openFixture,
  PERIODS,
  RETENTION_MS,
  type TestQueue,
  takeOverClock,
} from '../support/database-fixture.ts';
import { histogramOf } from '../support/histogram.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 10, 21, 12);

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;
let now = START;
let queue: TestQueue;

beforeAll(async () => {
  fixture = await openFixture();
  setClock = await takeOverClock(fixture.db, START);
});

// Attempts of one test must not be in the sums of the next, which reads all queues.
beforeEach(async () => {
  for (const table of ['attempt', 'queue_stats', 'queue_completed', 'follower']) {
    await fixture.db.query(`delete from ${table}`);
  }
  queue = await fixture.createQueue({ max_attempts: 1 });
  await pass(Math.ceil((now + HOUR) / HOUR) * HOUR - now);
});

async function pass(ms: number): Promise<void> {
  now += ms;
  await setClock(now);
}

/** So many failed attempts now. */
async function fail(count: number): Promise<void> {
  await fixture.publishJobs(queue, count);
  for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, FAILED, now);
}

async function rolledUp(): Promise<number> {
  return (await fixture.db.one<{ n: number }>('select coalesce(sum(failed), 0) as n from queue_stats'))?.n ?? -1;
}

async function position(): Promise<number | null> {
  const row = await fixture.db.one<{ position: string }>(`select position from follower where name = 'stats'`);
  return row === null ? null : Number(row.position);
}

const step = () => rollUp(fixture.db, RETENTION_MS);

describe('the roll-up', () => {
  it('stays five seconds behind, and counts every attempt once', async () => {
    await fail(3);
    await pass(5000);
    expect(await step()).toBe(false);
    expect([await rolledUp(), await position()]).toEqual([0, now - 5000]);
    await pass(1);
    for (let again = 0; again < 3; again += 1) {
      await step();
      expect(await rolledUp()).toBe(3);
    }
  });

  describe('after the clock went back', () => {
    /** So many completed jobs now. */
    async function complete(count: number): Promise<void> {
      await fixture.publishJobs(queue, count);
      for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED, now);
    }

    /** Successes and completed jobs: those of the roll-up, and as a reader adds the others. */
    async function counted() {
      const row = await fixture.db.one<{ stored: number[]; read: number[] }>(
        `with until as materialized (select jobferry_stats_until($1 * interval '1 ms') as at)
         select array[(select coalesce(sum(success), 0) from queue_stats),
                      (select coalesce(sum(completed), 0) from queue_completed)]::integer[] as stored,
                array[(select coalesce(sum(success), 0) from queue_stats)
                        + (select coalesce(sum(s.success), 0) from until, jobferry_attempt_stats(at, 'infinity') s),
                      (select coalesce(sum(completed), 0) from queue_completed)
                        + (select coalesce(sum(since), 0)
                             from until, jobferry_completed_since(at, '', '', array[$2]))]::integer[] as read`,
        [RETENTION_MS, queue.id],
      );
      return row ?? { stored: [], read: [] };
    }

    it.each([6000, 60_000, 2 * HOUR])('each attempt counts once after the clock went back %i ms', async (back) => {
      await complete(2);
      await pass(6000);
      await step();
      await complete(1);
      await pass(-back);
      await complete(3);
      await step();
      expect(await counted()).toMatchObject({ read: [6, 6] });
      // In the same milliseconds as attempts from before, and over the former position.
      await pass(back - 6000);
      await complete(4);
      await step();
      expect(await counted()).toMatchObject({ read: [10, 10] });
      for (let passed = 0; passed < 30_000; passed += 4000) {
        await pass(4000);
        await step();
        expect(await counted()).toMatchObject({ read: [10, 10] });
      }
      expect(await counted()).toEqual({ stored: [10, 10], read: [10, 10] });
      expect(await fixture.db.one(`select jobferry_stats_counted() as counted`)).toEqual({ counted: null });
    });

    it('the roll-up counts new attempts after the clock went back and a dump was restored', async () => {
      await complete(2);
      await pass(6000);
      await step();
      await fixture.db.query(`update follower set position = '999999999999' where name = 'stats-before'`);
      await pass(-MINUTE);
      await step();
      await complete(3);
      expect(await counted()).toMatchObject({ read: [5, 5] });
      await pass(HOUR);
      await step();
      expect(await counted()).toEqual({ stored: [5, 5], read: [5, 5] });
    });

    it('several times, counts every attempt once', async () => {
      let all = 0;
      for (const change of [6000, -20_000, 9000, -9000, 16_000, -90_000, 40_000, -7000, 60_000, 70_000, 6000]) {
        await complete(2);
        all += 2;
        await pass(change);
        await step();
        expect(await counted()).toMatchObject({ read: [all, all] });
      }
      expect(await counted()).toMatchObject({ stored: [all, all] });
    });
  });

  it('counts every attempt once, however many roll up at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      await fail(4);
      await pass(6000);
      await Promise.all(Array.from({ length: 12 }, step));
    }
    expect(await rolledUp()).toBe(20);
  });

  it('loses nothing when it is killed half-way', async () => {
    await fail(3);
    await pass(6000);
    const client = new pg.Client({ connectionString: fixture.db.pool.options.connectionString });
    await client.connect();
    client.on('error', () => undefined);
    await client.query('begin');
    await client.query(`select jobferry_roll_up('3 days')`);
    const seen = await client.query<{ n: string }>('select sum(failed) as n from queue_stats');
    expect(seen.rows[0]?.n).toBe('3');
    // Another roll-up does not wait for it, and does not count a second time.
    expect(await step()).toBe(false);
    expect([await rolledUp(), await position()]).toEqual([0, null]);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    await fixture.db.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
    await client.end().catch(() => undefined);
    await step();
    expect(await rolledUp()).toBe(3);
  });

  it('does not overtake a transaction that takes long to commit', async () => {
    const client = new pg.Client({ connectionString: fixture.db.pool.options.connectionString });
    await client.connect();
    await fixture.publishJobs(queue, 1);
    const [job] = (await fixture.claim(queue)).jobs;
    await client.query('begin');
    await client.query(
      `insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
       values ($1, 1, $2, 1, 'failed', jobferry_now())`,
      [job?.id, queue.id],
    );
    await pass(1);
    // Without the five seconds, which exist because not every server shows all transactions to the service's user.
    const hasty = `select jobferry_roll_up('3 days', 100, '0 s') as more`;
    await fixture.db.query(hasty);
    expect(await position()).toBeLessThan(now - 1);
    await client.query('commit');
    await client.end();
    await fixture.db.query(hasty);
    expect([await rolledUp(), await position()]).toEqual([1, now]);
  });

  it('begins where retention does, and goes on in steps that end in time', async () => {
    for (let round = 0; round < 10; round += 1) {
      await fail(4);
      await pass(7 * HOUR);
    }
    // Attempts that are past retention before the first roll-up are left out.
    await pass(RETENTION_MS - 66 * HOUR);
    const left = await fixture.db.one<{ n: number }>(
      `select count(*) as n from attempt where "timestamp" >= jobferry_bucket(jobferry_now() - interval '3 days')`,
    );
    expect(left?.n).toBe(36);
    const small = `select jobferry_roll_up('3 days', 5) as more`;
    let steps = 0;
    for (let last = -1; ; steps += 1) {
      const { more } = (await fixture.db.one<{ more: boolean }>(small)) ?? { more: false };
      const reached = (await position()) ?? -1;
      expect(reached).toBeGreaterThan(last);
      last = reached;
      if (!more) break;
    }
    expect(steps).toBeGreaterThan(5);
    expect([await rolledUp(), await position()]).toEqual([36, now - 5000]);
  });

  it('goes on with more attempts of one moment than it takes at a time', async () => {
    await fail(9);
    await pass(6000);
    const small = `select jobferry_roll_up('3 days', 2) as more`;
    while ((await fixture.db.one<{ more: boolean }>(small))?.more) {
      // Step by step.
    }
    expect(await rolledUp()).toBe(9);
  });

  it('leaves out attempts that went past retention while no process rolled up', async () => {
    await fail(1);
    await pass(6000);
    await step();
    await fail(2);
    await pass(RETENTION_MS + HOUR);
    await fail(3);
    await pass(6000);
    await step();
    expect(await rolledUp()).toBe(4);
  });

  it('keeps completed jobs by the time of their creation', async () => {
    const created = now;
    await fixture.publishJobs(queue, 3);
    await pass(20 * MINUTE);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED, now);
    await pass(6000);
    await step();
    const rows = await fixture.db.query('select queue_id, created_bucket, completed from queue_completed');
    expect(rows).toEqual([{ queue_id: queue.id, created_bucket: new Date(created), completed: 3 }]);
  });

  it('is swept after retention, and not before', async () => {
    await fail(1);
    await fixture.publishJobs(queue, 1);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED, now);
    const spans = async () => {
      const counted =
        'select (select count(*) from queue_stats) as stats, (select count(*) from queue_completed) as completed';
      return fixture.db.one(counted);
    };
    const end = now + RETENTION_MS;
    await pass(6000);
    await step();
    await pass(end + 5 * MINUTE - 1 - now);
    expect(await sweepByTime(fixture.db, 'statistics', now, PERIODS)).toBe(0);
    expect(await spans()).toEqual({ stats: 1, completed: 1 });
    await pass(1);
    expect(await sweepByTime(fixture.db, 'statistics', now, PERIODS)).toBe(2);
    expect(await spans()).toEqual({ stats: 0, completed: 0 });
  });
});

describe('indexing attempts', () => {
  const newRanges = async () => {
    const text = `select brin_summarize_new_values('attempt_timestamp_idx') as n`;
    return (await fixture.db.one<{ n: number }>(text))?.n ?? -1;
  };
  /** More than the pages that the index takes together. */
  const write = (ordinal: number) =>
    fixture.db.query(
      `insert into attempt (job_id, ordinal, queue_id, attempt, status, error, "timestamp")
       select id, $1 + n, queue_id, 1, 'failed', repeat('x', 500), jobferry_now()
         from (select * from job limit 1) job, generate_series(1, 1000) n`,
      [ordinal],
    );

  it('covers all that is new', async () => {
    await fixture.publishJobs(queue, 1);
    await write(1000);
    expect(await newRanges()).toBeGreaterThan(0);
    await write(2000);
    await indexAttempts(fixture.db);
    expect(await newRanges()).toBe(0);
  });

  it('is put off when another session has locked the table', async () => {
    await write(3000);
    const client = await connect(fixture.url);
    await client.query('begin; lock table attempt in share update exclusive mode');
    await indexAttempts(fixture.db);
    await client.query('rollback');
    expect(await newRanges()).toBeGreaterThan(0);
  });
});

describe('SQL counts as the domain does', () => {
  const durations = fc.array(fc.oneof(fc.nat(50), fc.nat(2 ** 31 - 1)), { maxLength: 50 });
  const inSql = async (text: string, values: unknown[]) =>
    (await fixture.db.one<{ histogram: number[] }>(`select ${text} as histogram`, values))?.histogram;

  const COUNTED = `(select jobferry_histogram(array_agg(jobferry_histogram_element(v)), array_agg(1))
                      from (select null::integer as v union all select unnest($1::integer[])) v)`;

  it('SQL counts durations into a histogram as the domain does', async () => {
    await fc.assert(
      fc.asyncProperty(durations, async (values) => {
        expect(await inSql(COUNTED, [values])).toEqual(histogramOf(values));
      }),
    );
    const powers = Array.from({ length: 31 }, (_, power) => 2 ** power);
    const around = [0, ...powers.flatMap((power) => [power - 1, power, power + 1])].filter((ms) => ms < 2 ** 31);
    for (const ms of around) expect(await inSql(COUNTED, [[ms]])).toEqual(histogramOf([ms]));
  });

  it('SQL adds histograms as the domain does', async () => {
    await fc.assert(
      fc.asyncProperty(durations, durations, async (one, other) => {
        const sum = await inSql('jobferry_histogram_sum($1, $2)', [histogramOf(one), histogramOf(other)]);
        expect(sum).toEqual(mergeHistograms([histogramOf(one), histogramOf(other)]));
      }),
    );
  });

  it('SQL reads from an id when it was created', async () => {
    const row = await fixture.db.one<{ at: Date; id: string }>(
      `select jobferry_created_at(jobferry_id('2026-11-21T12:34:56.789Z')) as at`,
    );
    expect(row?.at).toEqual(new Date('2026-11-21T12:34:56.789Z'));
  });
});
