import { beforeAll, describe, expect, it } from 'vitest';
import type { ClaimedJob } from '../../src/db/delivery/claim.ts';
import {
  backpressure,
  DELIVERED,
  FAILED,
  type Fixture,
  INTERRUPTED,
  LIFETIME_MS,
  moveBookmarks,
  openFixture,
  takeOverClock,
} from '../support/database-fixture.ts';

/** The first instant of a window of 1 s, of 60 s and of 0.3 s. */
const START = Date.UTC(2026, 10, 21, 12);

let fixture: Fixture;
let now = START;
let setClock: (ms: number) => Promise<void>;

beforeAll(async () => {
  fixture = await openFixture();
  await moveBookmarks(fixture.db);
  setClock = await takeOverClock(fixture.db, START);
  await fixture.openConnections();
});

async function pass(ms: number): Promise<void> {
  now += ms;
  await setClock(now);
}

function ids(claimed: { jobs: { id: string }[] }): string[] {
  return claimed.jobs.map((job) => job.id);
}

const NOTHING_LEFT = Number.POSITIVE_INFINITY;

describe('claim', () => {
  it('claims the due jobs in order of time, and returns when the next is due', async () => {
    const queue = await fixture.createQueue();
    const [late] = await fixture.publishJobs(queue, 1, { delayMs: 1500 });
    const early = await fixture.publishJobs(queue, 3);
    const taken = await fixture.claim(queue);
    expect(ids(taken)).toEqual(early);
    expect(taken).toMatchObject({ now, waitMs: 1500, queueDeleted: false });
    await pass(1499);
    expect(await fixture.claim(queue)).toMatchObject({ waitMs: 1, jobs: [] });
    await pass(1);
    expect(await fixture.claim(queue)).toMatchObject({
      waitMs: NOTHING_LEFT,
      jobs: [{ id: late, state: { attempts: 1 } }],
    });
  });

  it('leaves jobs above the capacity, and returns that there are more', async () => {
    const queue = await fixture.createQueue();
    const all = await fixture.publishJobs(queue, 5);
    const taken = await fixture.claim(queue, 2);
    expect(ids(taken)).toEqual(all.slice(0, 2));
    expect(taken.waitMs).toBe(0);
  });

  it('never exceeds the concurrency, however many claims run at once', async () => {
    const queue = await fixture.createQueue({ concurrency: 7 });
    await fixture.publishJobs(queue, 100);
    const claims = await Promise.all(Array.from({ length: 16 }, (_, worker) => fixture.claim(queue, 100, worker + 1)));
    const taken = claims.flatMap((claimed) => claimed.jobs);
    expect(new Set(taken.map((job) => job.id)).size).toBe(7);
    expect(taken).toHaveLength(7);
    // A full queue waits for a settle, not for time.
    expect(claims.at(-1)?.waitMs).toBeNull();
    for (const job of taken.slice(0, 3)) expect(await fixture.settle(job, DELIVERED)).toBe(true);
    expect((await fixture.claim(queue)).jobs).toHaveLength(3);
  });

  it('counts jobs that await an ack as in flight', async () => {
    const queue = await fixture.createQueue({ concurrency: 2, mode: 'ack' });
    await fixture.publishJobs(queue, 3);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED);
    expect((await fixture.claim(queue)).jobs).toEqual([]);
    const counted = 'select count(*) as n from job where queue_id = $1 and status = $2';
    expect(await fixture.db.one(counted, [queue.id, 'awaiting_ack'])).toEqual({ n: 2 });
  });

  it('applies a raised and a lowered concurrency to the next claim', async () => {
    const queue = await fixture.createQueue({ concurrency: 1 });
    await fixture.publishJobs(queue, 20);
    const set = (concurrency: number) =>
      fixture.db.query('update queue set concurrency = $2 where id = $1', [queue.id, concurrency]);
    const first = await fixture.claim(queue);
    await set(4);
    const more = await fixture.claim(queue);
    expect([first.jobs.length, more.jobs.length]).toEqual([1, 3]);
    await set(2);
    for (const job of more.jobs.slice(0, 2)) await fixture.settle(job, DELIVERED);
    expect((await fixture.claim(queue)).jobs).toEqual([]);
    for (const job of [...first.jobs, ...more.jobs.slice(2)]) await fixture.settle(job, DELIVERED);
    expect((await fixture.claim(queue)).jobs).toHaveLength(2);
  });

  it('starts no delivery after the delivery lifetime (D8)', async () => {
    const queue = await fixture.createQueue();
    const [old] = await fixture.publishJobs(queue, 1);
    await pass(LIFETIME_MS - 1);
    const [fresh] = await fixture.publishJobs(queue, 1);
    const held = await fixture.claim(queue, 1);
    expect(ids(held)).toEqual([old]);
    for (const job of held.jobs) await fixture.settle(job, INTERRUPTED, now);
    await pass(1);
    const taken = await fixture.claim(queue);
    expect(ids(taken)).toEqual([fresh]);
    expect(taken.waitMs).toBe(0);
    // Until the reconciler has ended the lifetime of the other.
    expect((await fixture.claim(queue)).waitMs).toBe(250);
  });

  it('gives nothing of a deleted queue', async () => {
    const queue = await fixture.createQueue();
    await fixture.publishJobs(queue, 1);
    await fixture.db.query('update queue set deleted_at = jobferry_now() where id = $1', [queue.id]);
    expect(await fixture.claim(queue)).toMatchObject({ queueDeleted: true, jobs: [] });
    expect(await fixture.claim({ id: '0'.repeat(24), name: 'unknown' })).toMatchObject({ queueDeleted: true });
  });

  const used = async () => (await fixture.db.one<{ n: number }>('select sum(attempts)::int as n from usage'))?.n ?? 0;

  it('counts every claim as usage of the account and month', async () => {
    const queue = await fixture.createQueue();
    await fixture.publishJobs(queue, 4);
    const before = await used();
    await fixture.claim(queue, 3);
    await fixture.claim(queue, 3);
    expect((await used()) - before).toBe(4);
  });

  it('is taken back from the usage of its month, once, if the delivery could not begin (D38)', async () => {
    const queue = await fixture.createQueue();
    await fixture.publishJobs(queue, 3);
    const before = await used();
    const [sent, lost, unsent] = (await fixture.claim(queue)).jobs as [ClaimedJob, ClaimedJob, ClaimedJob];
    const failure = { type: 'unsent', error: 'resolver_unreachable', waitMs: 1000 } as const;
    // A text cannot be mistaken for the mark of such a settlement.
    await fixture.settle(sent, {
      type: 'answered',
      outcome: { kind: 'failed', statusCode: 500, error: '"unbilled":true' },
    });
    await fixture.settle(lost, INTERRUPTED);
    expect((await used()) - before).toBe(3);
    await pass(32 * 24 * 3_600_000);
    for (const applied of [true, false]) expect(await fixture.settle(unsent, failure, now)).toBe(applied);
    expect((await used()) - before).toBe(2);
    expect((await fixture.db.query('select from usage')).length).toBe(1);
  });
});

describe('rate window (D16)', () => {
  it.each([1, 60, 0.3, 0.05])('never gives more than the limit in an aligned window of %s s', async (length) => {
    const queue = await fixture.createQueue({ rate_limit_max: 3, rate_limit_window: length });
    const windowMs = length * 1000;
    // To the middle of a window.
    await pass(Math.ceil(now / windowMs) * windowMs + windowMs / 2 - now);
    await fixture.publishJobs(queue, 8);
    const first = await fixture.claim(queue, 2);
    const second = await fixture.claim(queue);
    expect([first.jobs.length, second.jobs.length]).toEqual([2, 1]);
    expect(second.waitMs).toBe(windowMs / 2);
    // A delivery that has ended does not give its place back.
    for (const job of first.jobs) await fixture.settle(job, FAILED, now);
    expect((await fixture.claim(queue)).jobs).toEqual([]);
    await pass(windowMs / 2 - 1);
    expect(await fixture.claim(queue)).toMatchObject({ jobs: [], waitMs: 1 });
    await pass(1);
    expect((await fixture.claim(queue)).jobs).toHaveLength(3);
    await pass(windowMs);
    expect((await fixture.claim(queue)).jobs).toHaveLength(3);
  });

  it('goes on when the clock goes back into the window before, and not when it goes back further', async () => {
    const queue = await fixture.createQueue({ rate_limit_max: 3, rate_limit_window: 60 });
    await pass(Math.ceil(now / 60_000) * 60_000 + 1000 - now);
    await fixture.publishJobs(queue, 9);
    await fixture.db.query(`update job set scheduled_for = scheduled_for - interval '1 hour' where queue_id = $1`, [
      queue.id,
    ]);
    expect((await fixture.claim(queue)).jobs).toHaveLength(3);
    await pass(-2000);
    expect(await fixture.claim(queue)).toMatchObject({ jobs: [], waitMs: 61_000 });
    await pass(2000);
    expect((await fixture.claim(queue)).jobs).toEqual([]);
    await pass(-600_000);
    expect((await fixture.claim(queue)).jobs).toHaveLength(3);
    await pass(600_000);
  });

  it('holds over racing claims', async () => {
    const queue = await fixture.createQueue({ rate_limit_max: 20, rate_limit_window: 60 });
    await fixture.publishJobs(queue, 100);
    const claims = await Promise.all(Array.from({ length: 16 }, () => fixture.claim(queue, 3)));
    expect(claims.reduce((sum, claimed) => sum + claimed.jobs.length, 0)).toBe(20);
  });
});

describe('hold and probe (D14)', () => {
  async function heldQueue() {
    const queue = await fixture.createQueue({ mode: 'ack', max_defers: 5 });
    await fixture.publishJobs(queue, 10);
    await fixture.db.query(`update queue set hold_until = jobferry_now() + interval '5 s' where id = $1`, [queue.id]);
    return queue;
  }

  it('gives nothing while the hold lasts, then exactly one however many claims run', async () => {
    const queue = await heldQueue();
    expect(await fixture.claim(queue)).toMatchObject({ jobs: [], waitMs: 5000 });
    await pass(5000);
    const claims = await Promise.all(Array.from({ length: 16 }, () => fixture.claim(queue)));
    const probes = claims.flatMap((claimed) => claimed.jobs);
    expect(probes.map((job) => job.rules.isProbe)).toEqual([true]);
    expect(claims.map((claimed) => claimed.waitMs)).toEqual(claims.map(() => null));
  });

  it.each([
    ['an answer in standard mode', DELIVERED, 'standard'],
    ['a failure', FAILED, 'ack'],
    ['a lost worker', INTERRUPTED, 'ack'],
  ] as const)('resumes the queue after %s', async (_name, event, mode) => {
    const queue = await heldQueue();
    await fixture.db.query('update queue set mode = $2 where id = $1', [queue.id, mode]);
    await pass(5000);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, event, now);
    expect((await fixture.claim(queue)).jobs.length).toBeGreaterThanOrEqual(9);
  });

  it('keeps the rest waiting while the probe awaits its ack', async () => {
    const queue = await heldQueue();
    await pass(5000);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, DELIVERED, now);
    expect((await fixture.claim(queue)).jobs).toEqual([]);
  });

  it('holds again when the probe meets backpressure', async () => {
    const queue = await heldQueue();
    await pass(5000);
    for (const job of (await fixture.claim(queue)).jobs) await fixture.settle(job, backpressure(3000), now);
    expect(await fixture.claim(queue)).toMatchObject({ jobs: [], waitMs: 3000 });
    await pass(3000);
    expect((await fixture.claim(queue)).jobs.map((job) => job.rules.isProbe)).toEqual([true]);
  });

  it('resumes when the probe was removed by retention', async () => {
    const queue = await heldQueue();
    await pass(5000);
    for (const job of (await fixture.claim(queue)).jobs)
      await fixture.db.query('delete from job where id = $1', [job.id]);
    expect((await fixture.claim(queue)).jobs).toHaveLength(9);
  });
});
