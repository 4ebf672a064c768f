import { beforeAll, describe, expect, it } from 'vitest';
import { type Claim, type ClaimLimit, claim } from '../../src/db/delivery/claim.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import { CLAIM_BYTES } from '../support/claim.ts';
import {
  DELIVERED,
  type Fixture,
  LEASE_MS,
  openFixture,
  settlementOf,
  type TestQueue,
} from '../support/database-fixture.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** Claims of several queues at once (`jobferry_claim`); which jobs of a queue are claimed is in claim.test. */
let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.openConnections();
});

async function claimOfAll(queues: readonly { id: string }[], jobs = 100, workerId = 1): Promise<Claim[]> {
  const bytes = Math.floor(CLAIM_BYTES / queues.length);
  return claimWithin(
    queues.map(({ id: queueId }) => ({ queueId, jobs, bytes, since: null })),
    workerId,
  );
}

async function claimWithin(limits: ClaimLimit[], workerId = 1): Promise<Claim[]> {
  const claims = await claim(fixture.db, { limits, workerId, leaseMs: LEASE_MS });
  return limits.map(({ queueId }) => claims.get(queueId) as Claim);
}

const ids = (claimed: Claim) => claimed.jobs.map(({ id }) => id);

async function withJobs(count: number, columns = {}): Promise<{ queue: TestQueue; jobs: string[] }> {
  const queue = await fixture.createQueue(columns);
  return { queue, jobs: await fixture.publishJobs(queue, count) };
}

async function usage(): Promise<number> {
  const row = await fixture.db.one<{ sum: string }>('select coalesce(sum(attempts), 0) as sum from usage');
  return Number(row?.sum);
}

describe('a claim of several queues', () => {
  it('claims the same jobs of each queue as a claim of that queue alone, with the same result for each', async () => {
    const many = await withJobs(5, { concurrency: 3 });
    const few = await withJobs(2);
    const empty = await fixture.createQueue();
    const later = await fixture.createQueue();
    await fixture.publishJobs(later, 1, { delayMs: 60_000 });
    const before = await usage();
    const claims = await claimOfAll([later, many.queue, { id: UNKNOWN_ID }, few.queue, empty], 4);
    expect(claims.map(ids)).toEqual([[], many.jobs.slice(0, 3), [], few.jobs, []]);
    expect(claims.map(({ queueDeleted }) => queueDeleted)).toEqual([false, false, true, false, false]);
    const nothing = Number.POSITIVE_INFINITY;
    expect(claims.map(({ waitMs }) => waitMs)).toEqual([expect.closeTo(60_000, -4), null, null, nothing, nothing]);
    expect(await usage()).toBe(before + 5);
  });

  it('gives each job the rules, address and secret of its own queue', async () => {
    const [one, other] = [await withJobs(1, { max_defers: 1 }), await withJobs(1, { max_defers: 2, mode: 'ack' })];
    await fixture.db.query(
      `update queue set signing_secret = 'another', webhook_url = 'http://127.0.0.1:8/' where id = $1`,
      [other.queue.id],
    );
    const jobs = (await claimOfAll([one.queue, other.queue])).flatMap((claimed) => claimed.jobs);
    expect(jobs).toMatchObject([
      { id: one.jobs[0], queueId: one.queue.id, queueName: one.queue.name, rules: { maxDefers: 1, mode: 'standard' } },
      {
        id: other.jobs[0],
        queueId: other.queue.id,
        queueName: other.queue.name,
        signingSecret: 'another',
        webhookUrl: 'http://127.0.0.1:8/',
        rules: { maxDefers: 2, mode: 'ack' },
      },
    ]);
  });

  it('shares its 4 MiB of payloads among them, and each gives one at least', async () => {
    const queues = await Promise.all(Array.from({ length: 4 }, () => fixture.createQueue()));
    const payload = `{"a":"${'x'.repeat(600_000)}"}`;
    for (const queue of queues) await fixture.publishJobs(queue, 4, { payload });
    const claims = await claimOfAll(queues);
    // Each may take a quarter, and the second job still begins within it.
    expect(claims.map(({ jobs, waitMs }) => [jobs.length, waitMs])).toEqual(queues.map(() => [2, 0]));
  });

  it('claims no more jobs and bytes of each queue than its arguments allow', async () => {
    const [few, small, large] = [await withJobs(5), await withJobs(5), await fixture.createQueue()];
    await fixture.publishJobs(large, 3, { payload: `{"a":"${'x'.repeat(1000)}"}` });
    const claims = await claimWithin([
      { queueId: few.queue.id, jobs: 2, bytes: 1000, since: null },
      { queueId: small.queue.id, jobs: 5, bytes: 5, since: null },
      { queueId: large.id, jobs: 5, bytes: 1, since: null },
    ]);
    // `{}` has two bytes, and the third begins within five.
    expect(claims.map(({ jobs, waitMs }) => [jobs.length, waitMs])).toEqual([
      [2, 0],
      [3, 0],
      [1, 0],
    ]);
  });

  it('begins with the jobs that were due since a moment, and with the oldest where there are none', async () => {
    const { queue, jobs } = await withJobs(3);
    const empty = await fixture.createQueue();
    await fixture.db.query(`update job set scheduled_for = scheduled_for - interval '1 minute' where id = $1`, [
      jobs[0],
    ]);
    const claimSince = async (since: number) => {
      const limit = { jobs: 1, bytes: CLAIM_BYTES, since };
      const [claimed, none] = await claimWithin([queue, empty].map(({ id: queueId }) => ({ queueId, ...limit })));
      expect(none).toMatchObject({ jobs: [], waitMs: Number.POSITIVE_INFINITY });
      return [claimed && ids(claimed), claimed?.waitMs];
    };
    const before = Date.now() - 30_000;
    expect(await claimSince(before)).toEqual([[jobs[1]], 0]);
    expect(await claimSince(before)).toEqual([[jobs[2]], Number.POSITIVE_INFINITY]);
    expect(await claimSince(before)).toEqual([[jobs[0]], Number.POSITIVE_INFINITY]);
    expect(await claimSince(before)).toEqual([[], Number.POSITIVE_INFINITY]);
  });

  it('skips a queue that another transaction has locked, and does not wait', async () => {
    const [held, claimed, free] = [await withJobs(2), await withJobs(2), await withJobs(2)];
    const holder = await fixture.db.pool.connect();
    await holder.query('begin');
    await holder.query('select from queue where id = $1 for no key update', [held.queue.id]);
    // As another claim does.
    await holder.query(`select pg_advisory_xact_lock(hashtextextended('jobferry claim ' || $1, 0))`, [
      claimed.queue.id,
    ]);
    const queues = [held.queue, claimed.queue, free.queue];
    expect((await claimOfAll(queues)).map((of) => [ids(of), of.waitMs, of.queueDeleted])).toEqual([
      [[], 0, false],
      [[], 0, false],
      [free.jobs, Number.POSITIVE_INFINITY, false],
    ]);
    await holder.query('rollback');
    holder.release();
    expect((await claimOfAll(queues)).map(ids)).toEqual([held.jobs, claimed.jobs, []]);
  });

  it('never runs into a deadlock with other claims, in whatever order they name the queues', async () => {
    const queues = await Promise.all(Array.from({ length: 6 }, () => fixture.createQueue({ concurrency: 2 })));
    const total = 240;
    for (const queue of queues) await fixture.publishJobs(queue, total / queues.length);
    const seen = new Set<string>();
    const work = async (worker: number) => {
      const order = worker % 2 === 0 ? queues : queues.toReversed();
      while (seen.size < total) {
        const jobs = (await claimOfAll(order, 2, worker)).flatMap((claimed) => claimed.jobs);
        expect(jobs.filter(({ id }) => seen.has(id))).toEqual([]);
        for (const { id } of jobs) seen.add(id);
        const settlements = jobs.map((job) => settlementOf(job, DELIVERED, Date.now()));
        if (jobs.length > 0) await settle(fixture.db, worker % 3 === 0 ? settlements : settlements.toReversed());
      }
    };
    // PostgreSQL ends a circle by an error for one of them.
    await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker + 1)));
    expect(seen.size).toBe(total);
  });
});
