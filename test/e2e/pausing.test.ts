import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { type Cluster, publishMany, startCluster } from '../support/cluster.ts';
import { createTestDatabase } from '../support/database.ts';
import { startJobferry } from '../support/process.ts';
import type { Receiver } from '../support/receiver.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** The pausing process is another one than the workers; they learn of the pause through the database. */
let cluster: Cluster;
let api: Api;
let op: TestServices;
let account: Account;

beforeAll(async () => {
  cluster = await startCluster({ workers: 2 });
  api = cluster.api;
  op = openServices(cluster.databaseUrl);
  account = await op.firstAccount();
});

/** Resolves when the workers have delivered a job of another queue, published that many seconds ago. */
async function workersWentOn(through: Api, seconds: number): Promise<void> {
  const receiver = await openReceiver();
  const queue = await through.createQueue({ webhookUrl: receiver.url });
  const { id } = await through.publish(queue.name, { payload: {}, delay: seconds });
  await through.waitForStatus(id, 'completed');
}

/** Longer than the reconciler's period: whatever could release a job without a client has had its turn. */
const LONG_SECONDS = 5.5;

describe.concurrent('a paused queue', () => {
  it('takes jobs and delivers none, until it is resumed', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    await op.queues.pause(account, queue.id);
    const ids = await publishMany(api, queue.name, 12);
    const delayed = await api.publish(queue.name, { payload: {}, delay: 0.5 });
    await workersWentOn(api, LONG_SECONDS);
    expect(receiver.requests).toEqual([]);
    expect(await cluster.count(queue.id, 'pending')).toBe(13);

    await op.queues.resume(account, queue.id);
    await cluster.waitForCount(queue.id, 'completed', 13);
    expect(receiver.requests.map((request) => request.json().id).sort()).toEqual([...ids, delayed.id].sort());
  });

  it('starts no delivery after the pause, also under load', async () => {
    // At the pause many jobs are left, however long it takes: after two hundred deliveries the receiver waits for it.
    const isPaused = createGate();
    const receiver: Receiver = await openReceiver(async () => {
      if (receiver.requests.length > 200) await isPaused.opened;
      return { delayMs: 5 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, concurrency: 20 });
    await publishMany(api, queue.name, 400);
    await receiver.waitFor(60);
    await op.queues.pause(account, queue.id);
    isPaused.open();
    await cluster.waitForCount(queue.id, 'processing', 0);
    const [late] = await cluster.query<{ n: number }>(
      'select count(*)::int as n from job join queue on queue.id = queue_id where queue_id = $1 and claimed_at > paused_at',
      [queue.id],
    );
    expect(late).toEqual({ n: 0 });
    const delivered = receiver.requests.length;
    expect(await cluster.count(queue.id, 'pending')).toBe(400 - delivered);
    expect(delivered).toBeLessThan(400);
    await op.queues.resume(account, queue.id);
    await cluster.waitForCount(queue.id, 'completed', 400);
    expect(receiver.requests).toHaveLength(400);
  });

  it('lets jobs in flight finish, and failed ones wait', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async (request) => {
      if (request.json().attempt === 1) await gate.opened;
      return { status: (request.json().payload as { status: number }).status };
    });
    const queue = await api.createQueue({
      webhookUrl: receiver.url,
      concurrency: 2,
      backoffType: 'fixed',
      backoffDelay: 0,
    });
    const good = await api.publish(queue.name, { payload: { status: 200 } });
    const bad = await api.publish(queue.name, { payload: { status: 500 } });
    await receiver.waitFor(2);
    await op.queues.pause(account, queue.id);
    gate.open();
    await api.waitForStatus(good.id, 'completed');
    await api.waitForJob(bad.id, (job) => job.history.length === 1);
    await workersWentOn(api, 0);
    expect(await api.getJob(bad.id)).toMatchObject({ status: 'pending', attempts: 1 });
    expect(receiver.requests).toHaveLength(2);
    await op.queues.resume(account, queue.id);
    expect(await api.waitForStatus(bad.id, 'dead')).toMatchObject({ attempts: 3 });
  });

  it('a paused queue in ack mode takes reports, and times out jobs without one', async () => {
    const receiver = await openReceiver({ status: 202 });
    const settings = { mode: 'ack', ackTimeout: 3600, ackTimeoutAction: 'dead' };
    const queue = await api.createQueue({ webhookUrl: receiver.url, concurrency: 2, ...settings });
    const [acked, silent] = [await api.publish(queue.name), await api.publish(queue.name)];
    await cluster.waitForCount(queue.id, 'awaiting_ack', 2);
    const waiting = await api.publish(queue.name);
    await op.queues.pause(account, queue.id);
    expect((await api.call('POST', `/v1/jobs/${acked.id}/ack`)).status).toBe(200);
    await cluster.query(
      `update job set deadline = jobferry_now() where id = $1 returning jobferry_wake('timeout', queue_id, deadline)`,
      [silent.id],
    );
    expect(await api.waitForStatus(silent.id, 'dead')).toMatchObject({ lastError: 'ack_timeout' });
    await workersWentOn(api, 0);
    expect(await api.getJob(waiting.id)).toMatchObject({ status: 'pending', attempts: 0 });
    await op.queues.resume(account, queue.id);
    await api.waitForStatus(waiting.id, 'awaiting_ack');
  });
});

describe.concurrent('a pause', () => {
  it('survives that every process is started again', async ({ onTestFinished }) => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: 'key-of-the-first-account' };
    const first = await startJobferry({ databaseUrl, env });
    const receiver = await openReceiver();
    const before = createApi(first.baseUrl, env.BOOTSTRAP_API_KEY);
    const queue = await before.createQueue({ webhookUrl: receiver.url });
    const here = openServices(databaseUrl);
    const by = await here.firstAccount();
    await here.queues.pause(by, queue.id);
    const { id } = await before.publish(queue.name);
    await first.kill('SIGKILL');

    // With a file that changes another setting.
    const folder = await mkdtemp(join(tmpdir(), 'jobferry-queues-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const QUEUES_FILE = join(folder, 'queues.json');
    const declared = { name: queue.name, webhookUrl: receiver.url, maxAttempts: 7 };
    await writeFile(QUEUES_FILE, JSON.stringify({ queues: [declared] }));
    const second = await startJobferry({ databaseUrl, env: { ...env, QUEUES_FILE } });
    const after = createApi(second.baseUrl, env.BOOTSTRAP_API_KEY);
    await workersWentOn(after, LONG_SECONDS);
    expect(receiver.requests).toEqual([]);
    expect((await after.getJob(id)).status).toBe('pending');
    expect((await here.queues.get(by, queue.id)).maxAttempts).toBe(7);
    await here.queues.resume(by, queue.id);
    await after.waitForStatus(id, 'completed');
  });

  it('stops the clock of the delivery lifetime', async () => {
    const lifetimeMs = 5000;
    const { api: short, databaseUrl } = await startService({ JOB_LIFETIME_SECONDS: String(lifetimeMs / 1000) });
    const here = openServices(databaseUrl, { lifetimeMs });
    const by = await here.firstAccount();
    const receiver = await openReceiver({ status: 202 });
    const settings = { webhookUrl: receiver.url, mode: 'ack', concurrency: 1 };
    const [queue, other] = [await short.createQueue(settings), await short.createQueue(settings)];
    await here.queues.pause(by, queue.id);
    const { id } = await short.publish(queue.name);
    // The other queue's second job waits for a slot until its lifetime ends.
    await short.publish(other.name);
    await waitFor(async () => (await short.listJobs(other.id, '?status=awaiting_ack')).total === 1);
    const lost = await short.publish(other.name);
    expect(await short.waitForStatus(lost.id, 'dead')).toMatchObject({ lastError: 'delivery_lifetime_exceeded' });
    expect((await short.getJob(id)).status).toBe('pending');
    await here.queues.resume(by, queue.id);
    await short.waitForStatus(id, 'awaiting_ack');
  });
});
