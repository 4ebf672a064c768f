import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addQueueUsage, usageByQueue } from '../../src/db/insight/queue-usage.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import {
  type Fixture,
  openFixture,
  PERIODS,
  RETENTION_MS,
  type TestQueue,
  takeOverClock,
} from '../support/database-fixture.ts';

/** Usage by queue and month, from the statistics before they are removed. */

const MINUTE = 60_000;
/** Minutes before the end of a month. */
const START = Date.UTC(2026, 9, 31, 23, 50);

let fixture: Fixture;
let setClock: (ms: number) => Promise<void>;
let queue: TestQueue;

beforeAll(async () => {
  fixture = await openFixture();
  setClock = await takeOverClock(fixture.db, START);
});

beforeEach(async () => {
  for (const table of ['queue_stats', 'queue_usage', 'follower']) await fixture.db.query(`delete from ${table}`);
  queue = await fixture.createQueue();
  await setClock(START);
});

/** Statistics of five minutes, as a roll-up writes them. */
const count = (at: number, success: number, failed = 0, queueId = queue.id) =>
  fixture.db.query(
    `insert into queue_stats (queue_id, bucket, success, failed, nacked, deferred) values ($1, to_timestamp($2::float8 / 1000), $3, $4, 1, 2)
     on conflict (queue_id, bucket) do update set success = queue_stats.success + excluded.success`,
    [queueId, at, success, failed],
  );
/** Now, with the statistics complete up to here. */
async function reach(at: number): Promise<void> {
  await setClock(at + 5000);
  await fixture.db.query(
    `insert into follower (name, position) values ('stats', $1) on conflict (name) do update set position = excluded.position`,
    [String(at)],
  );
}
async function addAll(): Promise<number> {
  let calls = 1;
  while (await addQueueUsage(fixture.db, RETENTION_MS)) calls += 1;
  return calls;
}
const usage = (month: string, limit = 10) => usageByQueue(fixture.db, fixture.accountId, month, limit);

describe('the usage by queue', () => {
  it('counts what is complete, once, in the month in which it ended', async () => {
    await count(START, 10, 3);
    await count(START + 10 * MINUTE, 5);
    await reach(START + 12 * MINUTE);
    await addAll();
    const october = {
      countedUntil: new Date(START + 10 * MINUTE),
      queues: [{ queueId: queue.id, queueName: expect.any(String), succeeded: 10, failed: 4, deferred: 2 }],
      otherQueues: 0,
      otherAttempts: 0,
    };
    expect(await usage('2026-10')).toEqual(october);
    expect(await usage('2026-11'), 'its five minutes are not over').toMatchObject({ queues: [] });
    await count(START + 10 * MINUTE, 1);
    await reach(START + 15 * MINUTE);
    await addAll();
    await addAll();
    expect(await usage('2026-11')).toMatchObject({ queues: [{ succeeded: 6, failed: 1, deferred: 2 }] });
    expect((await usage('2026-10')).queues, 'not again').toEqual(october.queues);
  });

  it('is there after the statistics and the queue are gone, and goes after thirteen months', async () => {
    await count(START, 10);
    await reach(START + 5 * MINUTE);
    await addAll();
    await fixture.db.query('delete from queue where id = $1', [queue.id]);
    const later = START + 2 * RETENTION_MS;
    await setClock(later);
    while ((await sweepByTime(fixture.db, 'statistics', later, PERIODS)) > 0);
    expect(await fixture.db.query('select from queue_stats')).toEqual([]);
    expect(await usage('2026-10')).toMatchObject({ queues: [{ queueId: queue.id, succeeded: 10 }] });
    const lastDay = Date.UTC(2027, 10, 30);
    expect(await sweepByTime(fixture.db, 'statistics', lastDay, PERIODS)).toBe(0);
    expect(await sweepByTime(fixture.db, 'statistics', lastDay + 2 * 86_400_000, PERIODS)).toBe(1);
    expect(await usage('2026-10')).toMatchObject({ queues: [] });
  });

  it('counts nothing twice when its position is lost, or two processes add at once', async () => {
    for (let n = 0; n < 3; n += 1) await count(START + n * 5 * MINUTE, 10);
    await reach(START + 10 * MINUTE);
    await Promise.all([addAll(), addAll(), addAll()]);
    await fixture.db.query(`delete from follower where name = 'queue-usage'`);
    await reach(START + 15 * MINUTE);
    await addAll();
    expect((await usage('2026-10')).queues).toMatchObject([{ succeeded: 20 }]);
    expect((await usage('2026-11')).queues).toMatchObject([{ succeeded: 10 }]);
  });

  it('adds six hours with a statement, and names the queues with the most', async () => {
    const other = await fixture.createQueue();
    const first = START - 20 * 3_600_000;
    await count(first, 100);
    await count(START - 5 * MINUTE, 1, 0, other.id);
    await reach(START);
    expect(await addAll()).toBe(4);
    expect(await usage('2026-10', 1)).toMatchObject({
      queues: [{ queueId: queue.id, succeeded: 100 }],
      otherQueues: 1,
      otherAttempts: 4,
    });
  });
});
