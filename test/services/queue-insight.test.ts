import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type QueuePart, queueNow } from '../../src/db/insight/queue-now.ts';
import { liveQueueIds } from '../../src/db/insight/queues.ts';
import { totalStats } from '../../src/db/insight/statistics.ts';
import { liveQueues } from '../../src/db/queues/live.ts';
import { percentilesOf } from '../../src/domain/histogram.ts';
import {
  type TimelineGrid,
  type TimelinePoint,
  timelineGrid,
  timelineOf as timelineOfRows,
} from '../../src/domain/statistics.ts';
import type { QueueDepth } from '../../src/services/insight/queues.ts';
import { awaiting, type Death, deliverSome, settleAs } from '../support/activity.ts';
import {
  backpressure,
  DELIVERED,
  FAILED,
  LIFETIME_MS,
  RETENTION_MS,
  type TestQueue,
  takeOverClock,
} from '../support/database-fixture.ts';
import { histogramOf } from '../support/histogram.ts';
import { createRandom, type Insight, openInsight } from '../support/insight.ts';
import { waitFor } from '../support/wait-for.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 10, 21, 12);
const REMEMBERED = { interval: 100 };

let insight: Insight;
let setClock: (ms: number) => Promise<void>;
let now = START;

beforeAll(async () => {
  insight = await openInsight();
  setClock = await takeOverClock(insight.db, START);
});

// An hour that begins with a span of five minutes.
beforeEach(() => pass(Math.ceil((now + HOUR) / HOUR) * HOUR - now));

async function pass(ms: number): Promise<void> {
  now += ms;
  await setClock(now);
}

async function timelineOf(queue: TestQueue, from: number, to: number, bucketSeconds = 300): Promise<TimelinePoint[]> {
  const input = { from: new Date(from), to: new Date(to), bucketSeconds };
  return (await insight.timelines(insight.account, [queue.id], input)).get(queue.id) ?? [];
}

async function depthOf(queue: TestQueue): Promise<QueueDepth | undefined> {
  return (await insight.depths(insight.account, [queue.id])).get(queue.id);
}

/** The expected timeline, from the attempts themselves. */
async function plainTimeline(queue: TestQueue, from: number, to: number, bucketMs: number, deaths: Death[]) {
  const rows = await insight.db.query<{
    at: number;
    success: number;
    failed: number;
    nacked: number;
    deferred: number;
    durations: number[] | null;
    waits: number[] | null;
  }>(
    `select (floor(extract(epoch from "timestamp") * 1000 / $2) * $2)::float8 as at,
            count(*) filter (where status = 'success') as success, count(*) filter (where status = 'failed') as failed,
            count(*) filter (where status = 'nacked') as nacked, count(*) filter (where status = 'deferred') as deferred,
            array_agg(duration_ms) filter (where duration_ms is not null) as durations,
            array_agg(wait_ms) filter (where wait_ms is not null) as waits
       from attempt where queue_id = $1 group by 1`,
    [queue.id, bucketMs],
  );
  const points: TimelinePoint[] = [];
  for (let at = from; at < to; at += bucketMs) {
    const row = rows.find((candidate) => candidate.at === at);
    const { success = 0, failed = 0, nacked = 0, deferred = 0, durations, waits } = row ?? {};
    const dead = deaths.filter((death) => death.queueId === queue.id && death.at >= at && death.at < at + bucketMs);
    points.push({
      at: new Date(at),
      success,
      failed,
      nacked,
      deferred,
      dead: dead.length,
      duration: percentilesOf(histogramOf(durations ?? [])),
      wait: percentilesOf(histogramOf(waits ?? [])),
      published: null,
    });
  }
  return points;
}

/** One statement must read of a queue what several read one after another, and the jobs that were published. */
async function expectTogether(queue: TestQueue, to: number, step: string): Promise<void> {
  const ids = [queue.id];
  const input = { from: new Date(to - 20 * MINUTE), to: new Date(to), bucketSeconds: 300, published: true };
  const request = { parts: ['row', 'depth', 'use', 'health'] as const, recent: [input] };
  const state = (await insight.states(insight.account, ids, request)).get(queue.id);
  const alone = (await insight.timelines(insight.account, ids, input)).get(queue.id);
  expect(state, step).toMatchObject({
    row: { id: queue.id, name: queue.name, accountId: insight.account.id, deletedAt: null },
    depth: await depthOf(queue),
    use: (await insight.uses(insight.account, ids)).get(queue.id),
    health: (await insight.healths(insight.account, ids)).get(queue.id),
    recent: [alone],
  });
  const jobs = await insight.db.query<{ at: number }>(
    'select extract(epoch from created_at)::float8 * 1000 as at from job where queue_id = $1',
    [queue.id],
  );
  const within = (at: Date) => jobs.filter((job) => job.at >= at.getTime() && job.at < at.getTime() + 5 * MINUTE);
  expect(
    alone?.map(({ published }) => published),
    step,
  ).toEqual(alone?.map(({ at }) => within(at).length));
}

/** The expected depth, from the jobs themselves. */
async function plainDepth(queue: TestQueue): Promise<QueueDepth | null> {
  return insight.db.one<Record<keyof QueueDepth, never>>(
    `select count(*) filter (where status = 'pending' and scheduled_for <= n.now) as due,
            count(*) filter (where status = 'pending' and scheduled_for > n.now and wait_reason is null) as scheduled,
            count(*) filter (where status = 'pending' and scheduled_for > n.now and wait_reason = 'backoff') as retrying,
            count(*) filter (where status = 'pending' and scheduled_for > n.now and wait_reason = 'hold') as held,
            count(*) filter (where status = 'processing') as processing,
            count(*) filter (where status = 'awaiting_ack') as awaiting_ack,
            count(*) filter (where status = 'completed') as completed, count(*) filter (where status = 'dead') as dead,
            min(scheduled_for) filter (where status = 'pending' and scheduled_for <= n.now) as "oldestDueAt",
            min(scheduled_for) filter (where status = 'pending' and scheduled_for > n.now) as "nextDueAt",
            min(deadline) filter (where status = 'awaiting_ack') as "firstAckDeadline"
       from (select jobferry_now() as now) n, job
      where queue_id = $1
        and (id >= jobferry_first_id(n.now - $2 * interval '1 ms') or status not in ('completed', 'dead'))`,
    [queue.id, RETENTION_MS],
  );
}

/** Half an hour of three queues: publishes, deliveries, reports and burials; the statistics follow now and then. */
async function liveThroughHalfAnHour(seed: number): Promise<{ queues: TestQueue[]; deaths: Death[] }> {
  const chance = createRandom(seed);
  const queues = [
    await insight.createQueue({ max_attempts: 2, backoff_delay: 90, max_defers: 1 }),
    await insight.createQueue({ mode: 'ack', max_attempts: 3, backoff_delay: 20, ack_timeout_action: 'dead' }),
    await insight.createQueue({ dlq_enabled: false, max_attempts: 1 }),
  ];
  const deaths: Death[] = [];
  for (let round = 0; round < 30; round += 1) {
    await pass(Math.floor(chance() * 2 * MINUTE));
    for (const queue of queues) {
      await insight.publishJobs(queue, Math.floor(chance() * 8));
      await insight.publishJobs(queue, 1, { delayMs: chance() * HOUR });
      deaths.push(...(await deliverSome(insight, queue, now, chance)));
    }
    if (chance() < 0.3) await insight.rollUp();
  }
  // Deaths without an attempt, of jobs that had some.
  await insight.db.query(
    `update job set status = 'dead', dead_reason = 'delivery_lifetime_exceeded', last_error = 'delivery_lifetime_exceeded'
      where id in (select id from job where queue_id = $1 and status = 'pending' and history_count > 0 limit 3)`,
    [queues[0]?.id],
  );
  return { queues, deaths };
}

describe('timelines and depths', () => {
  it.each([1, 2, 3])('agree with the rows, however far the roll-up is (%s)', async (seed) => {
    const from = now;
    const { queues, deaths } = await liveThroughHalfAnHour(seed);
    const to = Math.ceil(now / (10 * MINUTE)) * 10 * MINUTE;
    expect(deaths.length).toBeGreaterThan(10);
    for (const step of ['as they are', 'caught up', 'with nothing newer']) {
      for (const queue of queues) {
        const [fine, coarse] = [await timelineOf(queue, from, to), await timelineOf(queue, from, to, 600)];
        expect(fine, step).toEqual(await plainTimeline(queue, from, to, 5 * MINUTE, deaths));
        expect(coarse, step).toEqual(await plainTimeline(queue, from, to, 10 * MINUTE, deaths));
        expect(await depthOf(queue), step).toEqual(await plainDepth(queue));
        await expectTogether(queue, to, step);
      }
      await pass(step === 'caught up' ? MINUTE : 0);
      await insight.rollUp();
    }
    const left = `select count(*) as n from attempt where "timestamp" >= jobferry_stats_until('3 days')`;
    expect(await insight.db.one(left)).toEqual({ n: 0 });
  });

  it('are read for many queues at once, and zero where nothing happened', async () => {
    const [busy, idle] = [await insight.createQueue(), await insight.createQueue()];
    await insight.publishJobs(busy, 2);
    await deliverSome(insight, busy, now, () => 0.2);
    const input = { from: new Date(now - HOUR), to: new Date(now + 1), bucketSeconds: 300 };
    const timelines = await insight.timelines(insight.account, [busy.id, idle.id], input);
    const totals = [busy, idle].map(({ id }) => timelines.get(id)?.map(({ success, failed }) => success + failed));
    expect(totals).toEqual([[...Array(12).fill(0), 2], Array(13).fill(0)]);
    const depths = await insight.depths(insight.account, [busy.id, idle.id]);
    expect(depths.get(idle.id)).toEqual({
      due: 0,
      scheduled: 0,
      retrying: 0,
      held: 0,
      processing: 0,
      awaiting_ack: 0,
      completed: 0,
      dead: 0,
      oldestDueAt: null,
      nextDueAt: null,
      firstAckDeadline: null,
    });
    expect(depths.get(busy.id)?.completed).toBe(2);
  });

  it('the timeline of all queues is the sum of theirs, read as one row for each point', async () => {
    const queues = [await insight.createQueue(), await insight.createQueue(), await insight.createQueue()];
    const random = createRandom(7);
    for (let round = 0; round < 4; round += 1) {
      for (const queue of queues.slice(0, 2)) {
        await insight.publishJobs(queue, 5);
        // Without backpressure, which would hold the queue.
        await deliverSome(insight, queue, now, () => 0.2 + random() * 0.8);
      }
      // The rest is read from the attempts.
      if (round === 1) await insight.rollUp();
      await pass(4 * MINUTE);
    }
    const { account } = insight;
    const input = { from: new Date(now - HOUR), to: new Date(now + 1), bucketSeconds: 600 };
    const grid = timelineGrid(input, now - RETENTION_MS) as TimelineGrid;
    const ids = await liveQueueIds(insight.db, account.id);
    const range = { from: new Date(grid.startMs), to: new Date(grid.startMs + grid.count * grid.bucketMs) };
    const periods = { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS };
    const parts = new Set<QueuePart>(['attempts']);
    const states = await queueNow(insight.db, account.id, ids, { parts, range }, periods);
    const each = [...states.values()].flatMap(({ attempts = [] }) => attempts);
    const expected = timelineOfRows(grid, each);
    expect(await insight.totalTimeline(account, input)).toEqual(expected);
    expect(expected.filter(({ success, failed }) => success + failed > 0).length).toBeGreaterThan(1);
    const rows = await totalStats(insight.db, account.id, ids, grid, RETENTION_MS);
    expect(rows.length).toBeLessThanOrEqual(grid.count);
    expect(each.length).toBeGreaterThan(rows.length);
  });

  it('count the jobs of the last minute, whose time is no whole number of five minutes', async () => {
    const [busy, idle] = [await insight.createQueue(), await insight.createQueue()];
    await insight.publishJobs(busy, 3);
    await pass(61 * SECOND);
    await insight.publishJobs(busy, 2);
    // The time of the database is remembered for a second.
    await waitFor(async () => {
      const states = await insight.states(insight.account, [busy.id, idle.id], { parts: ['publishedLastMinute'] });
      const countOf = ({ id }: { id: string }) => states.get(id)?.publishedLastMinute;
      return countOf(busy) === 2 && countOf(idle) === 0 ? true : null;
    });
  });

  it('refuse a timeline that cannot be drawn', async () => {
    const queue = await insight.createQueue();
    await expect(timelineOf(queue, now - HOUR, now, 60)).rejects.toMatchObject({ kind: 'invalid_request' });
    await expect(timelineOf(queue, now - 2 * HOUR, now + 84 * HOUR)).rejects.toMatchObject({ kind: 'invalid_request' });
  });
});

describe('retention', () => {
  it('ends what a timeline shows', async () => {
    const queue = await insight.createQueue();
    await insight.publishJobs(queue, 1);
    await deliverSome(insight, queue, now, () => 0.2);
    const published = now;
    await pass(RETENTION_MS - MINUTE);
    await insight.rollUp();
    const asked = async () => {
      const points = await timelineOf(queue, published - HOUR, published + HOUR);
      return { first: points[0]?.at.getTime(), success: points.reduce((sum, point) => sum + point.success, 0) };
    };
    // The service remembers the database's time for a second, and we have moved it.
    await expect.poll(asked, REMEMBERED).toEqual({ first: published - 5 * MINUTE, success: 1 });
    await pass(6 * MINUTE);
    await expect.poll(asked, REMEMBERED).toEqual({ first: published + 5 * MINUTE, success: 0 });
  });

  it('ends every count of what has ended to the millisecond, swept or not', async () => {
    const queue = await insight.createQueue({ mode: 'ack', max_attempts: 1, backoff_delay: 10 });
    const rounds: (() => Promise<void>)[] = [
      async () => void (await settleAll(queue, FAILED)),
      async () => {
        for (const job of await settleAll(queue, DELIVERED))
          await settleAs(insight, awaiting(job), { type: 'acked' }, now, null);
      },
      async () => void (await settleAll(queue, DELIVERED)),
      async () => void (await insight.claim(queue)),
      async () => undefined,
    ];
    for (const round of rounds) {
      await insight.publishJobs(queue, 1);
      await round();
      await pass(MINUTE + 1);
    }
    const began = now - 5 * (MINUTE + 1);
    await insight.rollUp();
    for (let gone = 0; gone <= 5; gone += 1) {
      // A job is there at the end of retention, and not a millisecond later.
      await pass(began + RETENTION_MS + gone * (MINUTE + 1) - now);
      const depth = await depthOf(queue);
      expect(depth).toEqual(await plainDepth(queue));
      const { oldestDueAt: _oldest, nextDueAt: _next, firstAckDeadline: _first, ...counts } = depth as QueueDepth;
      // Jobs that have not ended stay: the third, the fourth and the fifth.
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(Math.max(5 - gone, 3));
      await pass(1);
      expect(await depthOf(queue)).toEqual(await plainDepth(queue));
    }
  });

  it('estimates the completed jobs of the last minutes when they are very many', async () => {
    const queue = await insight.createQueue();
    // One in 100 ms, from the first moment of a span.
    await insight.db.query(
      `with created as (
         insert into job (id, account_id, queue_id, status, max_attempts, backoff_type, backoff_delay, payload,
                          scheduled_for, deliver_by, created_at, completed_at, history_count)
         select jobferry_id(at), $1, $2, 'completed', 3, 'fixed', 0, '{}', at, at, at, at, 1
           from (select jobferry_now() + n * interval '100 ms' as at from generate_series(0, 5999) n) s
         returning id, queue_id, created_at)
       insert into attempt (job_id, ordinal, queue_id, attempt, status, "timestamp")
       select id, 1, queue_id, 1, 'success', created_at from created`,
      [insight.account.id, queue.id],
    );
    await pass(10 * MINUTE + 10 * SECOND);
    await insight.rollUp();
    expect((await depthOf(queue))?.completed).toBe(6000);
    await pass(RETENTION_MS - 10 * MINUTE + 50 * SECOND);
    // A minute of the first five is past retention: 600 of its 3000 jobs.
    expect((await depthOf(queue))?.completed).toBe(5400);
    await pass(3 * MINUTE);
    // Counted one by one again.
    expect((await depthOf(queue))?.completed).toBe(3600);
  });

  async function settleAll(queue: TestQueue, event: typeof FAILED) {
    const { jobs } = await insight.claim(queue);
    for (const job of jobs) await settleAs(insight, job, event, now, 1);
    return jobs;
  }
});

describe('uses', () => {
  it('count what is in flight, and the deliveries of the present rate window', async () => {
    const queue = await insight.createQueue({ mode: 'ack', rate_limit_max: 3, rate_limit_window: 60 });
    const use = async () => (await insight.uses(insight.account, [queue.id])).get(queue.id);
    await pass(20 * SECOND);
    await insight.publishJobs(queue, 9);
    expect(await use()).toEqual({
      inFlight: 0,
      awaitingAck: 0,
      rate: { used: 0, max: 3, resetsAt: new Date(now + 40 * SECOND) },
    });
    const { jobs } = await insight.claim(queue);
    expect(await use()).toEqual({
      inFlight: 3,
      awaitingAck: 0,
      rate: { used: 3, max: 3, resetsAt: new Date(now + 40 * SECOND) },
    });
    for (const job of jobs.slice(0, 2)) await settleAs(insight, job, DELIVERED, now, 1);
    for (const job of jobs.slice(2)) await settleAs(insight, job, FAILED, now, 1);
    expect(await use()).toMatchObject({ inFlight: 2, rate: { used: 3 } });
    await pass(40 * SECOND);
    expect(await use()).toEqual({
      inFlight: 2,
      awaitingAck: 2,
      rate: { used: 0, max: 3, resetsAt: new Date(now + 60 * SECOND) },
    });
    const free = await insight.createQueue();
    expect((await insight.uses(insight.account, [free.id])).get(free.id)).toEqual({
      inFlight: 0,
      awaitingAck: 0,
      rate: null,
    });
  });

  it('knows windows that are no whole number of milliseconds', async () => {
    const queue = await insight.createQueue({ rate_limit_max: 3, rate_limit_window: 0.3 });
    await insight.publishJobs(queue, 1);
    await insight.claim(queue);
    expect((await insight.uses(insight.account, [queue.id])).get(queue.id)?.rate).toMatchObject({ used: 1 });
    await pass(300);
    expect((await insight.uses(insight.account, [queue.id])).get(queue.id)?.rate).toMatchObject({ used: 0 });
  });
});

describe('healths', () => {
  it('show how the receiver answered in the last hour', async () => {
    const queue = await insight.createQueue({ max_attempts: 25 });
    const health = async () => (await insight.healths(insight.account, [queue.id])).get(queue.id);
    const answer = (statusCode: number | null) =>
      ({ type: 'answered', outcome: { kind: 'failed', statusCode, error: `HTTP ${statusCode}` } }) as const;
    const lost = { type: 'interrupted' } as const;
    const events = [...[301, 401, 401, 401, 404, 500, 502, null].map(answer), ...Array(10).fill(lost), DELIVERED];
    await insight.publishJobs(queue, 1);
    for (const event of events) {
      if (event === DELIVERED) await pass(SECOND);
      const [job] = (await insight.claim(queue)).jobs;
      if (job === undefined) throw new Error('nothing to deliver');
      await settleAs(insight, job, event, now, 100);
    }
    await insight.publishJobs(queue, 1);
    const [busy] = (await insight.claim(queue)).jobs;
    if (busy !== undefined) await settleAs(insight, busy, backpressure(HOUR), now, 100);
    const expected = {
      answered2xx: 1,
      answered3xx: 1,
      answered4xx: 1,
      answered5xx: 2,
      unauthorized: 3,
      backpressure: 1,
      // The lost worker is none of the receiver's doing.
      unanswered: 1,
      duration: { p50: expect.closeTo(100, -1), p95: expect.closeTo(100, -1), p99: expect.closeTo(100, -1) },
      warnings: [{ warning: 'signature_rejected' }, { warning: 'failing' }],
    };
    expect(await health()).toMatchObject(expected);
    await pass(59 * MINUTE);
    await insight.rollUp();
    expect(await health()).toMatchObject(expected);
    await pass(7 * MINUTE);
    // The answers of the hour are over, but the trouble is not: only one attempt has succeeded since.
    const past = { attempts: 11, failed: 9, unauthorized: 3, unanswered: 1 };
    const { warnings } = expected;
    expect(await health()).toMatchObject({ answered2xx: 0, unanswered: 0, duration: { p50: null }, past, warnings });
  });
});

describe('waitings', () => {
  const waitingOf = async (jobId: string | undefined) =>
    (await insight.waitings(insight.account, [jobId ?? ''])).get(jobId ?? '');
  const on = (queue: TestQueue, change: string) =>
    insight.db.query(`update queue set ${change} where id = $1`, [queue.id]);

  it('agree with what a claim would do', async () => {
    const queue = await insight.createQueue({ backoff_delay: 30, concurrency: 2 });
    const [delayed] = await insight.publishJobs(queue, 1, { delayMs: 5000 });
    expect(await waitingOf(delayed)).toMatchObject({ reason: 'delayed', earliestAt: new Date(now + 5000) });
    await insight.publishJobs(queue, 2);
    const [first, second] = (await insight.claim(queue)).jobs;
    if (first === undefined || second === undefined) throw new Error('no jobs');
    expect(await waitingOf(first.id)).toBeUndefined();
    const [next] = await insight.publishJobs(queue, 1);
    expect(await waitingOf(next)).toMatchObject({ reason: 'concurrency', message: expect.stringContaining('2 of 2') });

    await settleAs(insight, first, FAILED, now, 1);
    const backoff = { reason: 'backoff', earliestAt: new Date(now + 30 * SECOND) };
    expect(await waitingOf(first.id)).toMatchObject({ ...backoff, message: expect.stringContaining('attempt 1 of 3') });
    expect(await waitingOf(next)).toMatchObject({ reason: 'due', earliestAt: new Date(now) });
    await settleAs(insight, second, backpressure(60 * SECOND), now, 1);
    expect(await waitingOf(second.id)).toMatchObject({ reason: 'held', earliestAt: new Date(now + 60 * SECOND) });

    await on(queue, `hold_until = jobferry_now() + interval '45 s', hold_job_id = 'a1', hold_reason = 'busy'`);
    expect(await waitingOf(first.id)).toMatchObject({ reason: 'queue_held', earliestAt: new Date(now + 45 * SECOND) });
    expect(await waitingOf(second.id)).toMatchObject({ reason: 'held' });
    await pass(45 * SECOND);
    expect((await insight.claim(queue)).jobs.map(({ id }) => id)).toEqual([next]);
    expect(await waitingOf(first.id)).toMatchObject({
      reason: 'probe_in_flight',
      earliestAt: null,
      message: expect.stringContaining(next ?? 'no probe'),
    });

    await on(queue, `paused_at = jobferry_now(), paused_by = 'jf_abc'`);
    expect(await waitingOf(first.id)).toMatchObject({ reason: 'paused', earliestAt: null });
    await on(queue, 'deleted_at = jobferry_now()');
    expect(await waitingOf(first.id)).toMatchObject({ reason: 'queue_deleted', earliestAt: null });
  });

  it('know when the rate window ends, and forget a probe that is no longer in flight', async () => {
    const queue = await insight.createQueue({ rate_limit_max: 1, rate_limit_window: 60 });
    const [, next] = await insight.publishJobs(queue, 2);
    await insight.claim(queue);
    expect(await waitingOf(next)).toMatchObject({ reason: 'rate_limit', earliestAt: new Date(now + 60 * SECOND) });
    await pass(60 * SECOND);
    await on(queue, `hold_until = jobferry_now(), probe_job_id = '${next}'`);
    expect(await waitingOf(next)).toMatchObject({ reason: 'due' });
  });

  it('answer for pending jobs only, however old', async () => {
    const queue = await insight.createQueue();
    const [due, done] = await insight.publishJobs(queue, 2, { delayMs: LIFETIME_MS });
    await insight.db.query(`update job set status = 'completed', completed_at = created_at where id = $1`, [done]);
    const asked = [due ?? '', done ?? '', '0'.repeat(24), 'no id', '\0'];
    expect([...(await insight.waitings(insight.account, asked)).keys()]).toEqual([due]);
    await pass(RETENTION_MS + 1);
    expect([...(await insight.waitings(insight.account, asked)).keys()]).toEqual([due]);
  });
});

describe('trouble', () => {
  const end = async (queue: TestQueue, count: number, outcome: typeof FAILED) => {
    await insight.publishJobs(queue, count);
    for (const job of (await insight.claim(queue)).jobs) await settleAs(insight, job, outcome, now, 1);
  };
  const troubled = (name: string | null = null) => insight.troubled(insight.account, name);

  it('is that of the hour, until ten successes in a row outweigh it', async () => {
    const queue = await insight.createQueue({ max_attempts: 1, concurrency: 100 });
    const health = async () => {
      const { warnings = [], lastFailure } = (await insight.healths(insight.account, [queue.id])).get(queue.id) ?? {};
      return { warnings: warnings.map(({ warning }) => warning), lastFailure };
    };
    expect(await health()).toEqual({ warnings: [], lastFailure: null });
    await end(queue, 30, DELIVERED);
    await pass(MINUTE);
    await end(queue, 60, FAILED);
    const at = new Date(now);
    expect(await health()).toMatchObject({ warnings: ['failing'], lastFailure: { at, succeeded: 0 } });
    // In the same five minutes, in the next ones, with the statistics behind, and with all of them rolled up.
    await pass(SECOND);
    await end(queue, 4, DELIVERED);
    for (const step of [7 * MINUTE, 10 * SECOND]) {
      await insight.rollUp();
      expect(await health()).toMatchObject({ warnings: ['failing'], lastFailure: { at, succeeded: 4 } });
      await pass(step);
    }
    await end(queue, 5, DELIVERED);
    expect(await health()).toMatchObject({ warnings: ['failing'], lastFailure: { at, succeeded: 9 } });
    await end(queue, 1, DELIVERED);
    expect(await health()).toMatchObject({ warnings: [], lastFailure: { at, succeeded: 10 } });
    await pass(6 * MINUTE);
    await insight.rollUp();
    expect(await health()).toMatchObject({ warnings: [], lastFailure: { at, succeeded: 10 } });
    await end(queue, 1, FAILED);
    expect(await health()).toMatchObject({ warnings: ['failing'], lastFailure: { at: new Date(now), succeeded: 0 } });
  });

  it('does not end because an hour has passed, but when an attempt succeeds', async () => {
    const queue = await insight.createQueue({ max_attempts: 1, concurrency: 100 });
    const health = async () => {
      const { warnings = [], ...rest } = (await insight.healths(insight.account, [queue.id])).get(queue.id) ?? {};
      return { warnings: warnings.map(({ warning }) => warning), ...rest };
    };
    const receiver = async () => {
      const queues = (await liveQueues(insight.db, insight.account.id)).filter(({ id }) => id === queue.id);
      return (await insight.receivers.healths(insight.account, [{ host: 'one', queues }])).get('one');
    };
    await end(queue, 3, DELIVERED);
    await pass(SECOND);
    await end(queue, 20, FAILED);
    const last = { at: new Date(now), succeeded: 0, error: 'HTTP 500', webhookStatusCode: 500 };
    expect(await health()).toMatchObject({ warnings: ['failing'], attempts: 23, lastFailure: last, past: null });
    for (const step of [70 * MINUTE, 24 * HOUR]) {
      await pass(step);
      await insight.rollUp();
      const past = { attempts: 23, failed: 20, answered5xx: 20 };
      expect(await health()).toMatchObject({ warnings: ['failing'], attempts: 0, lastFailure: last, past });
      expect(await receiver()).toMatchObject({ attempts: 0, failing: 1, untried: 0 });
      expect(await troubled()).toContain(queue.id);
    }
    // Too few for a warning of their own.
    await end(queue, 2, FAILED);
    const again = { ...last, at: new Date(now) };
    expect(await health()).toMatchObject({
      warnings: ['failing'],
      attempts: 2,
      lastFailure: again,
      past: { failed: 22 },
    });
    await pass(SECOND);
    await end(queue, 3, DELIVERED);
    expect(await health()).toMatchObject({ warnings: [], past: null });
    await pass(2 * HOUR);
    await insight.rollUp();
    expect(await health()).toMatchObject({ warnings: [], past: null });
    expect(await troubled()).not.toContain(queue.id);
  });

  it('is that of a receiver as a whole, though each queue has too few attempts, until ten succeeded', async () => {
    const queues = [];
    for (let n = 0; n < 4; n += 1) queues.push(await insight.createQueue({ max_attempts: 1, concurrency: 100 }));
    const [well, ...silent] = queues as [TestQueue, ...TestQueue[]];
    const ids = queues.map(({ id }) => id);
    const health = async () => {
      const live = (await liveQueues(insight.db, insight.account.id)).filter(({ id }) => ids.includes(id));
      return (await insight.receivers.healths(insight.account, [{ host: 'silent', queues: live }])).get('silent');
    };
    for (const queue of silent) await end(queue, 4, FAILED);
    expect(await health()).toMatchObject({ attempts: 12, refused: 12, failing: 3, untried: 0 });
    await pass(SECOND);
    await end(well, 11, DELIVERED);
    expect(await health()).toMatchObject({ failing: 0, untried: 3, lastFailure: { succeeded: 11 } });
    // A failed probe of a breaker puts its job off, and is a failure of the receiver all the same.
    await pass(SECOND);
    await insight.db.query(
      `insert into attempt (job_id, ordinal, queue_id, attempt, status, error, webhook_status_code, "timestamp")
       select 'probe', n, $1, 1, 'deferred', error, code, jobferry_now()
         from (values (1, 'HTTP 429', 429), (2, 'asked for', 202), (3, 'HTTP 500', 500), (4, 'reset', null)) a(n, error, code)`,
      [well.id],
    );
    const failed = { at: new Date(now), succeeded: 0 };
    expect(await health()).toMatchObject({ failing: 3, untried: 0, lastFailure: failed });
    await pass(6 * MINUTE);
    await insight.rollUp();
    expect(await health()).toMatchObject({ failing: 3, lastFailure: failed });
    await end(well, 10, DELIVERED);
    expect(await health()).toMatchObject({ failing: 0, untried: 0 });
  });

  it.each<[string, [minutes: number, count: number, outcome: typeof FAILED][], string[]]>([
    [
      'an outage with one success',
      [
        [0, 30, FAILED],
        [30, 1, DELIVERED],
        [35, 8, FAILED],
      ],
      ['failing'],
    ],
    [
      'failures after many successes',
      [
        [0, 60, DELIVERED],
        [10, 40, FAILED],
      ],
      ['failing'],
    ],
    ['nine failures', [[0, 9, FAILED]], []],
  ])('does not change because time passes after %s', async (_name, course, expected) => {
    const queue = await insight.createQueue({ max_attempts: 1, concurrency: 100 });
    const from = now;
    for (const [minutes, count, outcome] of course) {
      await pass(from + minutes * MINUTE - now);
      await end(queue, count, outcome);
    }
    const failed = course.filter(([, , outcome]) => outcome === FAILED).reduce((sum, [, count]) => sum + count, 0);
    for (const step of [1, 27, 3, 30, 5, 60, 24 * 60]) {
      await pass(step * MINUTE);
      await insight.rollUp();
      const {
        warnings = [],
        past,
        attempts = 0,
      } = (await insight.healths(insight.account, [queue.id])).get(queue.id) ?? {};
      expect(warnings.map(({ warning }) => warning)).toEqual(expected);
      if (attempts === 0) expect(past).toMatchObject({ failed, answered5xx: failed });
      // The statement may find more queues than are in trouble.
      if (expected.length > 0) expect(await troubled()).toContain(queue.id);
    }
  });

  it('is that of a receiver as a whole however much time passes', async () => {
    const queues: TestQueue[] = [];
    for (let n = 0; n < 4; n += 1) queues.push(await insight.createQueue({ max_attempts: 1, concurrency: 100 }));
    const ids = queues.map(({ id }) => id);
    const health = async () => {
      const live = (await liveQueues(insight.db, insight.account.id)).filter(({ id }) => ids.includes(id));
      return (await insight.receivers.healths(insight.account, [{ host: 'silent', queues: live }])).get('silent');
    };
    for (const queue of queues) await end(queue, 4, FAILED);
    const at = new Date(now);
    expect(await health()).toMatchObject({ attempts: 16, refused: 16, failing: 4, past: null });
    for (const step of [70 * MINUTE, 24 * HOUR]) {
      await pass(step);
      await insight.rollUp();
      const past = { attempts: 16, failed: 16, answered5xx: 16 };
      expect(await health()).toMatchObject({
        attempts: 0,
        failing: 4,
        untried: 0,
        past,
        lastFailure: { at, succeeded: 0 },
      });
    }
    await end(queues[0] as TestQueue, 1, DELIVERED);
    expect(await health()).toMatchObject({ failing: 0, past: null });
  });

  it('is over for a receiver once ten attempts of any of its queues succeeded since the last failure of all', async () => {
    const [recovered, waits] = [
      await insight.createQueue({ max_attempts: 1, concurrency: 100 }),
      await insight.createQueue({ max_attempts: 1, concurrency: 100 }),
    ];
    const health = async () => {
      const queues = (await liveQueues(insight.db, insight.account.id)).filter(({ id }) =>
        [recovered.id, waits.id].includes(id),
      );
      return (await insight.receivers.healths(insight.account, [{ host: 'a', queues }])).get('a');
    };
    await end(recovered, 12, FAILED);
    await pass(SECOND);
    await end(waits, 12, FAILED);
    const at = new Date(now);
    expect(await health()).toMatchObject({ failing: 2, lastFailure: { at, succeeded: 0 } });
    await pass(SECOND);
    await end(recovered, 9, DELIVERED);
    expect(await health()).toMatchObject({ failing: 2, lastFailure: { at, succeeded: 9 } });
    await pass(7 * MINUTE);
    await insight.rollUp();
    await end(recovered, 1, DELIVERED);
    expect(await health()).toMatchObject({ failing: 0, failed: 24, lastFailure: { at, succeeded: 10 } });
  });

  it('is found in all queues, the newest of very many as well', async () => {
    await insight.db.query('update queue set deleted_at = jobferry_now() where deleted_at is null');
    const first = await insight.createQueue();
    await insight.db.query(
      `insert into queue (account_id, name, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled,
                          mode, rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay)
       select account_id, 'well-' || n, webhook_url, signing_secret, max_attempts, max_defers, concurrency, dlq_enabled, mode,
              rate_limit_window, ack_timeout, ack_timeout_action, backoff_type, backoff_delay
         from queue, generate_series(1, 1000) n where queue.id = $1`,
      [first.id],
    );
    const [failing, behind, paused] = [
      await insight.createQueue({ max_attempts: 1 }),
      await insight.createQueue(),
      await insight.createQueue(),
    ];
    expect(await troubled()).toEqual([]);
    await end(failing, 3, FAILED);
    await insight.publishJobs(behind, 1);
    await insight.db.query(`update queue set paused_at = jobferry_now(), paused_by = 'test' where id = $1`, [
      paused.id,
    ]);
    await pass(MINUTE + 1);
    await insight.rollUp();
    expect(await troubled()).toEqual([failing.id, behind.id, paused.id]);
    expect(await troubled('well%')).toEqual([]);
    expect(await troubled(behind.name)).toEqual([behind.id]);
    expect(await insight.troubled(insight.other, null)).toEqual([]);
    await insight.db.query(`delete from queue where name like 'well-%'`);
  });
});

describe('other accounts and deleted queues', () => {
  it.each<[string, (account: Insight['account'], queueIds: string[]) => Promise<Map<string, unknown>>]>([
    ['depths', (account, ids) => insight.depths(account, ids)],
    ['uses', (account, ids) => insight.uses(account, ids)],
    ['healths', (account, ids) => insight.healths(account, ids)],
    [
      'timelines',
      (account, ids) =>
        insight.timelines(account, ids, { from: new Date(now - HOUR), to: new Date(now), bucketSeconds: 300 }),
    ],
  ])('are not among the %s', async (_name, ask) => {
    const [mine, deleted] = [await insight.createQueue(), await insight.createQueue()];
    for (const queue of [mine, deleted]) await insight.publishJobs(queue, 1);
    await insight.db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted.id]);
    const asked = [mine.id, deleted.id, '0'.repeat(24), 'no id', '\0'];
    expect([...(await ask(insight.account, asked)).keys()]).toEqual([mine.id]);
    expect(await ask(insight.other, asked)).toEqual(new Map());
    expect(await ask(insight.account, [])).toEqual(new Map());
  });

  it('have nothing but their row among the states', async () => {
    const [mine, deleted] = [await insight.createQueue(), await insight.createQueue()];
    await insight.db.query('update queue set deleted_at = jobferry_now() where id = $1', [deleted.id]);
    const request = { parts: ['row', 'depth', 'use', 'health'] as const, names: [mine.name, deleted.name] };
    const byName = await insight.states(insight.account, [], request);
    expect([...byName.keys()]).toEqual([mine.id]);
    const byId = await insight.states(insight.account, [deleted.id], { parts: request.parts });
    expect(byId.get(deleted.id)).toMatchObject({ row: { id: deleted.id }, depth: null, use: null, health: null });
    expect(await insight.states(insight.other, [mine.id], request)).toEqual(new Map());
  });

  it('are not among the waitings', async () => {
    const queue = await insight.createQueue();
    const ids = await insight.publishJobs(queue, 1);
    expect(await insight.waitings(insight.other, ids)).toEqual(new Map());
  });
});
