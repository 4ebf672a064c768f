import { beforeAll, describe, expect, it } from 'vitest';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { startJobferry } from '../support/process.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';
import { openServices } from '../support/services.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** A process with both roles claims a job in the statement that stores it (docs/decisions/0044). */

let api: Api;
let databaseUrl: string;

beforeAll(async () => {
  ({ api, databaseUrl } = await startService());
});

/** Creates a queue that the process knows: it has published and delivered one job of it. */
async function knownQueue(webhookUrl: string, settings: object = {}) {
  const queue = await api.createQueue({ webhookUrl, ...settings });
  const { id } = await api.publish(queue.name);
  await api.waitForStatus(id, 'completed');
  return queue;
}

describe('a publish to a queue without waiting jobs', () => {
  it('claims the job, and its delivery is like any other', async () => {
    const receiver = await openReceiver((request) => ({ status: request.json().attempt === 1 ? 500 : 200 }));
    const queue = await knownQueue(receiver.url, { backoffType: 'fixed', backoffDelay: 0 });
    // A publish that meets a claim of the queue, such as the regular one, leaves its job to that.
    const { id, status } = await waitFor(async () => {
      const before = counts.claimedAtPublish;
      const published = await api.publish(queue.name);
      const claimed = counts.claimedAtPublish - before;
      always(() => expect([0, 1]).toContain(claimed));
      return claimed === 1 && published;
    });
    expect(status).toBe('pending');
    const job = await api.waitForStatus(id, 'completed');
    expect(job).toMatchObject({ attempts: 2, history: [{ status: 'failed' }, { status: 'success' }] });
    const attempts = receiver.requests.map((request) => request.json()).filter((envelope) => envelope.id === id);
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('claims no delayed job, and none of a queue with a rate limit', async () => {
    const receiver = await openReceiver();
    const [plain, limited] = await Promise.all([
      knownQueue(receiver.url),
      knownQueue(receiver.url, { rateLimitMax: 1000, rateLimitWindow: 1 }),
    ]);
    const before = counts.claimedAtPublish;
    const jobs = [await api.publish(plain.name, { payload: {}, delay: 0.3 }), await api.publish(limited.name)];
    for (const { id } of jobs) await api.waitForStatus(id, 'completed');
    expect(counts.claimedAtPublish).toBe(before);
  });

  it('opens no more requests than the concurrency, and leaves none behind', async () => {
    let open = 0;
    let most = 0;
    const receiver = await openReceiver(async () => {
      most = Math.max(most, ++open);
      await new Promise(setImmediate);
      open -= 1;
      return { status: 200 };
    });
    const queue = await knownQueue(receiver.url, { concurrency: 3 });
    const before = counts.claimedAtPublish;
    const jobs: { id: string }[] = await Promise.all(Array.from({ length: 120 }, () => api.publish(queue.name)));
    for (const { id } of jobs) await api.waitForStatus(id, 'completed');
    // Then the queue is idle, so that one is claimed.
    await waitFor(async () => {
      const { id } = await api.publish(queue.name);
      jobs.push(await api.waitForStatus(id, 'completed'));
      return counts.claimedAtPublish > before;
    });
    expect(most).toBeLessThanOrEqual(3);
    expect(receiver.requests.length).toBe(1 + jobs.length);
  });

  it('claims nothing after a pause that was answered', async () => {
    const receiver = await openReceiver();
    const queue = await knownQueue(receiver.url);
    const op = openServices(databaseUrl);
    const account = await op.firstAccount();
    let isPaused = false;
    const after: string[] = [];
    const publishing = (async () => {
      while (after.length < 30) {
        const isLate = isPaused;
        const { id } = await api.publish(queue.name);
        if (isLate) after.push(id);
      }
    })();
    await waitFor(() => receiver.requests.length > 20, { message: 'deliveries before the pause' });
    await op.queues.pause(account, queue.id);
    isPaused = true;
    await publishing;
    const arrived = new Set(receiver.requests.map((request) => request.json().id));
    expect(after.filter((id) => arrived.has(id))).toEqual([]);
    await op.queues.resume(account, queue.id);
    for (const id of after) await api.waitForStatus(id, 'completed');
  });
});

it('a job that a killed process has claimed while it published is delivered by another', async () => {
  const gate = createGate();
  const receiver = await openReceiver(async () => {
    if (receiver.requests.length === 2) await gate.opened;
    return { status: 200 };
  });
  const { key } = await createAccount(databaseUrl);
  const first = await startJobferry({ databaseUrl });
  const through = createApi(first.baseUrl, key);
  const queue = await through.createQueue({ webhookUrl: receiver.url });
  await through.waitForStatus((await through.publish(queue.name)).id, 'completed');
  const { id } = await through.publish(queue.name);
  await waitFor(() => receiver.requests.length === 2, { message: 'the delivery of the process that will be killed' });
  // Only now: beside a busy process, the other one claims the job.
  const second = await startJobferry({ databaseUrl });
  await first.kill('SIGKILL');
  const job = await createApi(second.baseUrl, key).waitForStatus(id, 'completed');
  gate.open();
  expect(job).toMatchObject({ attempts: 1, history: [{ attempt: 1, status: 'success' }] });
});
