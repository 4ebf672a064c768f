import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiQueue } from '../support/api.ts';
import type { Reply } from '../support/receiver.ts';
import { at, CLOCK_SLACK_MS, createGate, openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Spec "When changes to a queue take effect", and what a deleted queue leaves behind (D17). */

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

/**
 * A queue that works on one job at a time: the first is at the webhook until the gate opens, the
 * second was published with the same settings and waits.
 */
async function oneAtTheWebhook(overrides: Partial<ApiQueue> = {}, reply: Reply = {}) {
  const gate = createGate();
  const receiver = await openReceiver(async () => {
    await gate.opened;
    return reply;
  });
  const settings = { concurrency: 1, backoffType: 'fixed', backoffDelay: 0, ...overrides };
  const queue = await api.createQueue({ webhookUrl: receiver.url, ...settings });
  const first = await api.publish(queue.name, { payload: { n: 1 } });
  await receiver.waitFor(1);
  const second = await api.publish(queue.name, { payload: { n: 2 } });
  return { receiver, queue, gate, first, second };
}

/** An ack queue of which the webhook confirms everything. */
async function ackQueue(overrides: Partial<ApiQueue> = {}) {
  const receiver = await openReceiver({ status: 202 });
  return { receiver, queue: await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', ...overrides }) };
}

async function ack(id: string): Promise<void> {
  const answer = await api.call('POST', `/v1/jobs/${id}/ack`);
  expect(answer.status, answer.text).toBe(200);
}

async function awaitingIds(queue: ApiQueue): Promise<string[]> {
  return (await api.listJobs(queue.id, '?status=awaiting_ack&limit=100')).jobs.map((job) => job.id);
}

describe.concurrent('the next delivery goes by the new', () => {
  it('webhookUrl', async () => {
    const { receiver, queue, gate, first, second } = await oneAtTheWebhook();
    const moved = await openReceiver();
    await api.updateQueue(queue.id, { webhookUrl: moved.url });
    gate.open();
    await api.waitForStatus(first.id, 'completed');
    await api.waitForStatus(second.id, 'completed');
    expect(receiver.requests.map((request) => request.json().id)).toEqual([first.id]);
    expect(moved.requests.map((request) => request.json().id)).toEqual([second.id]);
  });

  it('webhookUrl, for a retry too', async () => {
    const { queue, gate, first } = await oneAtTheWebhook({}, { status: 500 });
    const moved = await openReceiver();
    await api.updateQueue(queue.id, { webhookUrl: moved.url });
    gate.open();
    expect(await api.waitForStatus(first.id, 'completed')).toMatchObject({ attempts: 2 });
    expect(moved.requests.find((request) => request.json().id === first.id)?.json().attempt).toBe(2);
  });

  it('mode, while the job in flight ends by the old', async () => {
    const { queue, gate, first, second } = await oneAtTheWebhook();
    await api.updateQueue(queue.id, { mode: 'ack' });
    gate.open();
    await api.waitForStatus(first.id, 'completed');
    await api.waitForStatus(second.id, 'awaiting_ack');

    await api.updateQueue(queue.id, { mode: 'standard' });
    const third = await api.publish(queue.name);
    await ack(second.id);
    await api.waitForStatus(third.id, 'completed');
  });

  it('ackTimeout and ackTimeoutAction', async () => {
    const { queue, receiver } = await ackQueue({ concurrency: 1 });
    const first = await api.publish(queue.name);
    await api.waitForStatus(first.id, 'awaiting_ack');
    const second = await api.publish(queue.name);
    await api.updateQueue(queue.id, { ackTimeout: 0.2, ackTimeoutAction: 'dead' });
    await ack(first.id);
    expect(await api.waitForStatus(second.id, 'dead')).toMatchObject({ attempts: 1, lastError: 'ack_timeout' });
    expect(receiver.requests).toHaveLength(2);
  });

  it.each([
    { from: true, to: false, letters: 0 },
    { from: false, to: true, letters: 1 },
  ])('dlqEnabled: $to', async ({ from, to, letters }) => {
    const { queue, gate, first, second } = await oneAtTheWebhook({ dlqEnabled: from, maxAttempts: 1 }, { status: 500 });
    gate.open();
    await api.waitForStatus(first.id, 'dead');
    await api.waitForStatus(second.id, 'dead');
    const before = (await api.listDeadLetters(queue.id)).total;
    expect(before).toBe(from ? 2 : 0);
    await api.updateQueue(queue.id, { dlqEnabled: to });
    const third = await api.publish(queue.name);
    await api.waitForStatus(third.id, 'dead');
    expect((await api.listDeadLetters(queue.id)).total - before).toBe(letters);
  });

  it('maxDefers', async () => {
    const held = { status: 429, headers: { 'retry-after': '0' } };
    const { queue, gate, second } = await oneAtTheWebhook({ maxDefers: 1000 }, held);
    await api.updateQueue(queue.id, { maxDefers: 1 });
    gate.open();
    expect(await api.waitForStatus(second.id, 'dead')).toMatchObject({ deferCount: 1 });
  });
});

describe.concurrent('queued jobs keep', () => {
  it('maxAttempts and backoff; jobs published afterwards get the new', async () => {
    const { receiver, queue, gate, first, second } = await oneAtTheWebhook({ maxAttempts: 2 }, { status: 500 });
    await api.updateQueue(queue.id, { maxAttempts: 7, backoffType: 'exponential', backoffDelay: 1000 });
    const third = await api.publish(queue.name);
    gate.open();
    for (const { id } of [first, second]) {
      expect(await api.waitForStatus(id, 'dead')).toMatchObject({ attempts: 2, maxAttempts: 2 });
    }
    const job = await api.waitForJob(third.id, ({ history }) => history.length === 1);
    expect(job).toMatchObject({ status: 'pending', maxAttempts: 7 });
    expect(at(job.scheduledFor) - at(job.history[0]?.timestamp)).toBeGreaterThanOrEqual(1_000_000);
    const sent = receiver.requests.map((request) => request.json());
    expect(sent.filter(({ id }) => id !== third.id).map(({ maxAttempts }) => maxAttempts)).toEqual([2, 2, 2, 2]);
    expect(sent.filter(({ id }) => id === third.id)).toMatchObject([{ attempt: 1, maxAttempts: 7 }]);
  });
});

describe.concurrent('concurrency', () => {
  it('rises at once, and falls as jobs end', async () => {
    const { receiver, queue } = await ackQueue({ concurrency: 1 });
    await Promise.all(Array.from({ length: 6 }, () => api.publish(queue.name)));
    await waitFor(async () => (await awaitingIds(queue)).length === 1);

    const beforeRise = Date.now();
    await api.updateQueue(queue.id, { concurrency: 3 });
    const three = await waitFor(async () => {
      const ids = await awaitingIds(queue);
      return ids.length === 3 ? ids : null;
    });
    expect(receiver.requests).toHaveLength(3);
    expect(receiver.requests[1]?.arrivedAt).toBeGreaterThanOrEqual(beforeRise - CLOCK_SLACK_MS);

    await api.updateQueue(queue.id, { concurrency: 1 });
    const [a = '', b = '', c = ''] = three;
    await ack(a);
    await ack(b);
    for (let n = 0; n < 3; n += 1) await api.publish(queue.name);
    const beforeLast = Date.now();
    await ack(c);
    await waitFor(async () => (await awaitingIds(queue)).length === 1);
    expect(receiver.requests).toHaveLength(4);
    expect(receiver.requests[3]?.arrivedAt).toBeGreaterThanOrEqual(beforeLast - CLOCK_SLACK_MS);
  });
});

describe.concurrent('a rate limit', () => {
  it('applies once it is set, and no more once it is removed', async () => {
    const { receiver, queue } = await ackQueue({ concurrency: 10 });
    const free = await Promise.all([1, 2, 3].map(() => api.publish(queue.name)));
    await Promise.all(free.map(({ id }) => api.waitForStatus(id, 'awaiting_ack')));

    // Windows are aligned to the epoch (D16): take one that does not end during this test.
    const left = (window: number) => window - ((Date.now() / 1000) % window);
    const rateLimitWindow = [3600, 3301, 2903].reduce((best, next) => (left(next) > left(best) ? next : best));
    await api.updateQueue(queue.id, { rateLimitMax: 2, rateLimitWindow });
    await Promise.all([1, 2, 3, 4, 5].map(() => api.publish(queue.name)));
    await waitFor(async () => (await awaitingIds(queue)).length === 5);
    // A finished job makes the worker claim the next one, and so does a published one.
    await Promise.all((await awaitingIds(queue)).map(ack));
    for (let n = 0; n < 3; n += 1) await api.publish(queue.name);
    const before = Date.now();
    expect(receiver.requests).toHaveLength(5);

    await api.updateQueue(queue.id, { rateLimitMax: null });
    await waitFor(async () => (await awaitingIds(queue)).length === 6);
    for (const request of receiver.requests.slice(5)) {
      expect(request.arrivedAt).toBeGreaterThanOrEqual(before - CLOCK_SLACK_MS);
    }
  });
});

describe.concurrent('a deleted queue', () => {
  it('makes undelivered jobs dead, and lets jobs in flight finish', async () => {
    const { receiver, queue, gate, first, second } = await oneAtTheWebhook();
    const delayed = await api.publish(queue.name, { payload: { late: true }, delay: 1000 });
    const deleted = await api.call('DELETE', `/v1/queues/${queue.id}`);
    expect(deleted).toMatchObject({ status: 204, text: '' });

    for (const { id } of [second, delayed]) {
      const job = await api.waitForStatus(id, 'dead');
      expect(job).toMatchObject({ queue: queue.name, attempts: 0, history: [], lastError: 'queue_deleted' });
    }
    expect(await api.getJob(delayed.id)).toMatchObject({ payload: { late: true } });
    gate.open();
    expect(await api.waitForStatus(first.id, 'completed')).toMatchObject({ queue: queue.name, attempts: 1 });
    expect(receiver.requests).toHaveLength(1);
  });

  it('does not take back a job that fails afterwards', async () => {
    const { receiver, queue, gate, first } = await oneAtTheWebhook({ maxAttempts: 3 }, { status: 500 });
    await api.call('DELETE', `/v1/queues/${queue.id}`);
    gate.open();
    const job = await api.waitForStatus(first.id, 'dead');
    expect(job).toMatchObject({ attempts: 1, lastError: 'queue_deleted' });
    expect(job.history).toMatchObject([{ status: 'failed', error: 'HTTP 500' }]);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is gone from every route, and its dead letters with it', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    const { id } = await api.publish(queue.name);
    const dead = await api.waitForStatus(id, 'dead');
    const [letter] = (await api.listDeadLetters(queue.id)).jobs;
    await api.call('DELETE', `/v1/queues/${queue.id}`);

    const path = `/v1/queues/${queue.id}`;
    const calls: [number, string, string, object?][] = [
      [404, 'GET', path],
      [404, 'PUT', path, { concurrency: 2 }],
      [404, 'DELETE', path],
      [404, 'GET', `${path}/jobs`],
      [404, 'POST', `/v1/queues/${queue.name}/jobs`, { payload: {} }],
      [410, 'GET', `${path}/dlq`],
      [410, 'POST', `${path}/dlq/${letter?.id}/replay`],
      [410, 'POST', `${path}/dlq/replay`, { all: true }],
      [410, 'POST', `${path}/dlq/replay`, { jobIds: [letter?.id] }],
    ];
    for (const [status, method, at, body] of calls) {
      const answer = await api.call(method, at, body);
      expect(answer, `${method} ${at}`).toMatchObject({ status, body: { error: expect.any(String) } });
    }
    const { body: queues } = await api.call<ApiQueue[]>('GET', '/v1/queues');
    expect(queues.map((other) => other.id)).not.toContain(queue.id);
    expect(await api.getJob(id)).toEqual(dead);
  });

  it('frees its name at once, and with it the idempotency keys', async () => {
    const receiver = await openReceiver();
    const old = await api.createQueue({ webhookUrl: receiver.url });
    const body = { payload: {}, idempotencyKey: 'order-1' };
    const before = await api.publish(old.name, body);
    expect(await api.publish(old.name, body)).toMatchObject({ id: before.id });
    await api.waitForStatus(before.id, 'completed');
    await api.call('DELETE', `/v1/queues/${old.id}`);

    const queue = await api.createQueue({ webhookUrl: receiver.url, name: old.name });
    expect(queue.id).not.toBe(old.id);
    expect(queue.signingSecret).not.toBe(old.signingSecret);
    const answer = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, body);
    expect(answer.status).toBe(201);
    expect(answer.body.id).not.toBe(before.id);
    await api.waitForStatus(answer.body.id, 'completed');
    expect((await api.listJobs(queue.id)).jobs.map((job) => job.id)).toEqual([answer.body.id]);
    expect(await api.getJob(before.id)).toMatchObject({ status: 'completed' });
    expect((await api.call('GET', `/v1/queues/${old.id}/dlq`)).status).toBe(410);
  });
});
