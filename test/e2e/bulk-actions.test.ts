import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { BulkReplayInput } from '../../src/services/bulk/request.ts';
import type { ApiQueue } from '../support/api.ts';
import { bulkEnded, bulkRow, insertDeadLetters, replaysOf } from '../support/bulk.ts';
import { type Cluster, startProcesses } from '../support/cluster.ts';
import type { Jobferry } from '../support/process.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import type { Receiver } from '../support/receiver.ts';
import { CLOCK_SLACK_MS, createGate, openReceiver } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** Real workers; the test's own process requests the actions. */
let cluster: Cluster<Jobferry>;
let op: TestServices;
let account: Account;
let receiver: Receiver;

beforeAll(async () => {
  cluster = await startProcesses({ workers: 2 });
  op = openServices(cluster.databaseUrl);
  account = await op.firstAccount();
});

beforeEach(async () => {
  receiver = await openReceiver();
});

/**
 * After some silence other workers take over, and they poll every 5 s. Generous: it only ends tests that fail anyway.
 */
const TAKEN_OVER_MS = 120_000;
/** Jobs a second of the action that must not be faster. */
const RATE = 40;

async function createQueue(deadLetters: number, settings: Partial<ApiQueue> = {}): Promise<ApiQueue> {
  const webhookUrl = settings.webhookUrl ?? receiver.url;
  const queue = await cluster.api.createQueue({ concurrency: 50, ...settings, webhookUrl });
  await insertDeadLetters(op.db, queue.id, deadLetters);
  return queue;
}

function startReplay(queue: ApiQueue, changes: Partial<BulkReplayInput> = {}): Promise<string> {
  const input = { queueId: queue.id, filter: {}, jobs: null, all: true, ratePerSecond: null, canary: false };
  return op.bulk.startReplay(account, { ...input, ...changes });
}

async function kill(worker: Jobferry): Promise<void> {
  await worker.kill('SIGKILL');
  cluster.workers.splice(cluster.workers.indexOf(worker), 1);
}

async function processed(actionId: string, count: number): Promise<void> {
  await waitFor(async () => (await bulkRow(op.db, actionId)).processed >= count, { message: `${count} processed` });
}

/** Replays the dead letters of a queue that has a receiver of its own. */
async function replaying(deadLetters: number, ratePerSecond: number) {
  const own = await openReceiver();
  const queue = await createQueue(deadLetters, { webhookUrl: own.url });
  return { queue, receiver: own, id: await startReplay(queue, { ratePerSecond }) };
}

/**
 * All workers are killed once, in the middle of several actions, and others start: what takes an action over waits
 * until it counts as idle, which takes long. Each action has seconds of work left when they are killed.
 */
describe('a bulk replay whose workers are killed', () => {
  type Replaying = Awaited<ReturnType<typeof replaying>>;
  let large: Replaying;
  let slow: Replaying;
  let paused: Replaying;
  let pausedAt: number;
  let unannounced: string;

  beforeAll(async () => {
    large = await replaying(1500, 100);
    paused = await replaying(600, 50);
    await Promise.all([processed(large.id, 100), processed(paused.id, 40)]);
    await op.bulk.pause(account, paused.id);
    pausedAt = (await bulkRow(op.db, paused.id)).processed;
    slow = await replaying(240, RATE);
    await processed(slow.id, 20);
    await Promise.all([...cluster.workers].map(kill));
    for (const { id } of [large, slow]) expect(await bulkRow(op.db, id)).toMatchObject({ status: 'running' });
    // The rest of these two need not take long. The new workers read the rate before each batch.
    await cluster.query('update bulk_action set rate_per_second = 1000 where id = any ($1)', [[large.id, paused.id]]);
    // Its row in the table alone, as if the wake-up had been lost.
    const queue = await createQueue(3, { webhookUrl: (await openReceiver()).url });
    const [action] = await cluster.query<{ id: string }>(
      `insert into bulk_action (account_id, queue_id, kind, selection, matched, requested_by)
       values ($1, $2, 'replay_dead_letters', '{}', 3, 'test') returning id`,
      [account.id, queue.id],
    );
    unannounced = action?.id ?? '';
    await Promise.all([cluster.addWorker(), cluster.addWorker()]);
  });

  it('replays each dead letter exactly once', async () => {
    const { id, queue } = large;
    const counts = { matched: 1500, processed: 1500, succeeded: 1500, skipped: 0 };
    expect(await bulkEnded(op.db, id, TAKEN_OVER_MS)).toMatchObject({ status: 'completed', ...counts });
    const replays = await replaysOf(op.db, queue.id);
    expect(replays).toHaveLength(1500);
    expect(new Set(replays.map((replay) => replay.of)).size).toBe(1500);
    await cluster.waitForCount(queue.id, 'completed', 1500);
    const delivered = new Set(large.receiver.requests.map((request) => request.json().id));
    expect(delivered).toEqual(new Set(replays.map((replay) => replay.id)));
  });

  it('is never faster than its rate, also when another worker goes on', async () => {
    const { id, queue } = slow;
    await bulkEnded(op.db, id, TAKEN_OVER_MS);
    await cluster.waitForCount(queue.id, 'completed', 240);
    const released = (await replaysOf(op.db, queue.id)).map((replay) => replay.created).sort((a, b) => a - b);
    const most = (times: number[]) =>
      Math.max(...times.map((from) => times.filter((time) => time >= from && time <= from + 1000).length));
    expect(most(released)).toBeLessThanOrEqual(RATE);
    // A busy machine delivers late and then in lumps, but nothing before it was released: by the end of
    // each second the receiver has had so many at most. Deliveries of the killed workers come again.
    const first = new Map<string, number>();
    for (const request of slow.receiver.requests) {
      const { id: jobId } = request.json();
      if (!first.has(jobId)) first.set(jobId, request.arrivedAt);
    }
    const start = (released[0] ?? 0) - CLOCK_SLACK_MS;
    const arrivals = [...first.values()];
    expect(arrivals).toHaveLength(240);
    for (let second = 1; second <= 30; second += 1) {
      const soFar = arrivals.filter((time) => time < start + second * 1000).length;
      expect(soFar, `after ${second} s`).toBeLessThanOrEqual(RATE * second);
    }
  });

  it('needs no wake-up to begin', async () => {
    const ended = await bulkEnded(op.db, unannounced, TAKEN_OVER_MS);
    expect(ended).toMatchObject({ status: 'completed', succeeded: 3 });
  });

  it('stays paused when it was, and goes on where it stopped', async () => {
    const { id, queue } = paused;
    // The new workers have taken actions, and this one is not among them.
    await bulkEnded(op.db, unannounced, TAKEN_OVER_MS);
    expect(await bulkRow(op.db, id)).toMatchObject({ status: 'paused', processed: pausedAt });
    expect(pausedAt).toBeLessThan(600);
    await op.bulk.resume(account, id);
    const ended = await bulkEnded(op.db, id, TAKEN_OVER_MS);
    expect(ended).toMatchObject({ status: 'completed', succeeded: 600, skipped: 0 });
    const replays = await replaysOf(op.db, queue.id);
    expect(new Set(replays.map((replay) => replay.of)).size).toBe(600);
    expect(replays).toHaveLength(600);
  });
});

describe('a bulk replay', () => {
  it('waits for its canary, and goes on when that has completed', async () => {
    const gate = createGate();
    receiver.respondWith(async () => {
      await gate.opened;
      return {};
    });
    const queue = await createQueue(30);
    const id = await startReplay(queue, { canary: true });
    await receiver.waitFor(1);
    // It was looked at again, and still waits.
    const looks = async () =>
      (await cluster.query<{ n: Date }>('select kept_at as n from bulk_action where id = $1', [id]))[0]?.n;
    const before = await looks();
    await waitFor(async () => Number(await looks()) > Number(before), { message: 'another look at the canary' });
    expect(receiver.requests).toHaveLength(1);
    const { canary_job_id: canary } = await bulkRow(op.db, id);
    expect(receiver.requests[0]?.json().id).toBe(canary);
    gate.open();
    expect(await bulkEnded(op.db, id)).toMatchObject({ status: 'completed', succeeded: 30 });
    await cluster.waitForCount(queue.id, 'completed', 30);
  });
});

describe('a purge', () => {
  it('cancels what was published before, while publishing goes on', async () => {
    const queue = await createQueue(0);
    await op.queues.pause(account, queue.id);
    await cluster.query(`select ${publishInSql(queue.id, 1500)}`);
    const earlier = await cluster.query<{ id: string }>('select id from job where queue_id = $1', [queue.id]);
    const later: string[] = [];
    let started = false;
    let done = false;
    const publisher = async () => {
      while (!done) {
        const isLater = started;
        const { id } = await cluster.api.publish(queue.name);
        if (isLater) later.push(id);
      }
    };
    const publishers = Promise.all([publisher(), publisher(), publisher()]);
    const actionId = await op.bulk.startPurge(account, queue.id);
    started = true;
    const ended = await bulkEnded(op.db, actionId);
    await waitFor(() => later.length >= 50, { message: 'publishing after the start' });
    done = true;
    await publishers;

    expect(ended).toMatchObject({ status: 'completed', error: null, skipped: 0 });
    expect(ended.succeeded).toBeGreaterThanOrEqual(1500);
    const rows = await cluster.query<{ id: string; status: string }>(
      'select id, status from job where queue_id = $1 order by id',
      [queue.id],
    );
    const dead = new Set(rows.filter((job) => job.status === 'dead').map((job) => job.id));
    expect(dead.size).toBe(ended.succeeded);
    expect(earlier.filter(({ id }) => !dead.has(id))).toEqual([]);
    expect(later.filter((id) => dead.has(id))).toEqual([]);
    expect(await cluster.query('select from dead_letter where queue_id = $1', [queue.id])).toEqual([]);
    await op.queues.resume(account, queue.id);
    await cluster.waitForCount(queue.id, 'completed', rows.length - dead.size);
    expect(await cluster.count(queue.id, 'pending')).toBe(0);
  });
});
