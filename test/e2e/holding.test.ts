import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiJob, ApiQueue } from '../support/api.ts';
import type { Receiver, ReplyHandler } from '../support/receiver.ts';
import { at, CLOCK_SLACK_MS, openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * A defer of scope queue (D14): deliveries of the whole queue stop, then one job is released as a
 * probe, and its end decides. That nothing else was released is shown by arrival times.
 */

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

const CONFIRM: ReplyHandler = () => ({ status: 202 });

async function report(verb: 'ack' | 'nack' | 'defer', id: string, body: object = {}): Promise<ApiJob> {
  const answer = await api.call<ApiJob>('POST', `/v1/jobs/${id}/${verb}`, body);
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

async function awaitingIds(queue: ApiQueue): Promise<string[]> {
  return (await api.listJobs(queue.id, '?status=awaiting_ack&limit=100')).jobs.map((job) => job.id);
}

/** Acks whatever awaits it until every job of the queue is completed. */
async function ackAll(queue: ApiQueue, total: number): Promise<void> {
  await waitFor(
    async () => {
      for (const id of await awaitingIds(queue)) await report('ack', id);
      return (await api.listJobs(queue.id, '?status=completed')).total === total;
    },
    { message: `all jobs of ${queue.name} to be acked`, everyMs: 5 },
  );
}

/** A queue of which `concurrency` jobs await their report and `waiting` more wait for a slot. */
async function busyQueue(options: { concurrency: number; waiting: number }, overrides: Partial<ApiQueue> = {}) {
  const receiver = await openReceiver(CONFIRM);
  const { concurrency } = options;
  const settings = { mode: 'ack', backoffType: 'fixed', backoffDelay: 0, ...overrides };
  const queue = await api.createQueue({ webhookUrl: receiver.url, concurrency, ...settings });
  const total = concurrency + options.waiting;
  await Promise.all(Array.from({ length: total }, () => api.publish(queue.name)));
  const inFlight = await waitFor(async () => {
    const ids = await awaitingIds(queue);
    return ids.length === concurrency ? ids : null;
  });
  expect(receiver.requests).toHaveLength(concurrency);
  return { receiver, queue, total, inFlight };
}

/** Holds the queue through one job, acks the others, and returns the probe and the end of the hold. */
async function holdUntilProbe(busy: Awaited<ReturnType<typeof busyQueue>>, retryAfter: number) {
  const [first = '', ...others] = busy.inFlight;
  const deferred = await report('defer', first, { retryAfter });
  await Promise.all(others.map((id) => report('ack', id)));
  const probe = await nextDelivery(busy.receiver, busy.inFlight.length);
  return { deferred, heldUntil: at(deferred.scheduledFor), probe };
}

async function nextDelivery(receiver: Receiver, index: number) {
  const request = (await receiver.waitFor(index + 1))[index];
  if (request === undefined) throw new Error('no delivery');
  return { id: request.json().id, arrivedAt: request.arrivedAt };
}

describe.concurrent('a held queue', () => {
  it('releases exactly one of twenty waiting jobs, not early, and flows when that is acked', async () => {
    const busy = await busyQueue({ concurrency: 4, waiting: 20 });
    const { receiver, queue, total } = busy;
    const { deferred, heldUntil, probe } = await holdUntilProbe(busy, 0.8);
    expect(deferred).toMatchObject({ status: 'pending', attempts: 0, deferCount: 1 });
    expect(heldUntil - at(deferred.history[0]?.timestamp)).toBe(800);
    expect(probe.arrivedAt).toBeGreaterThanOrEqual(heldUntil - CLOCK_SLACK_MS);

    await api.waitForStatus(probe.id, 'awaiting_ack');
    // Each publish makes the service claim again.
    for (let n = 0; n < 5; n += 1) await api.publish(queue.name);
    const before = Date.now();
    expect(receiver.requests).toHaveLength(5);
    await report('ack', probe.id);

    await ackAll(queue, total + 5);
    expect(receiver.requests).toHaveLength(total + 5 + 1);
    const later = receiver.requests.slice(5).map((request) => request.arrivedAt);
    expect(Math.min(...later)).toBeGreaterThanOrEqual(before - CLOCK_SLACK_MS);
  });

  it('resumes at normal concurrency', async () => {
    const busy = await busyQueue({ concurrency: 4, waiting: 10 });
    const { probe } = await holdUntilProbe(busy, 0.2);
    await api.waitForStatus(probe.id, 'awaiting_ack');
    await report('ack', probe.id);
    await waitFor(async () => (await awaitingIds(busy.queue)).length === 4);
  });

  it.each([{ holds: [3, 1.5] }, { holds: [1.5, 3] }])(
    'is held until the latest of several holds: $holds',
    async ({ holds: [first, second] }) => {
      const { receiver, queue, inFlight, total } = await busyQueue({ concurrency: 2, waiting: 2 });
      const deferred = [
        await report('defer', inFlight[0] ?? '', { retryAfter: first }),
        await report('defer', inFlight[1] ?? '', { retryAfter: second, scope: 'queue' }),
      ];
      const heldUntil = Math.max(...deferred.map((job) => at(job.scheduledFor)));
      const probe = await nextDelivery(receiver, 2);
      expect(probe.arrivedAt).toBeGreaterThanOrEqual(heldUntil - CLOCK_SLACK_MS);
      await ackAll(queue, total);
    },
  );

  it('is held too when the defer budget of the job that deferred is spent', async () => {
    const busy = await busyQueue({ concurrency: 2, waiting: 1 }, { maxDefers: 0 });
    const { deferred, probe } = await holdUntilProbe(busy, 0.5);
    expect(deferred).toMatchObject({ status: 'dead', lastError: 'defer_cap_exhausted' });
    const heldUntil = at(deferred.history[0]?.timestamp) + 500;
    expect(probe.arrivedAt).toBeGreaterThanOrEqual(heldUntil - CLOCK_SLACK_MS);
  });

  it('holds jobs that are published meanwhile, and their delivery respects it', async () => {
    const busy = await busyQueue({ concurrency: 1, waiting: 0 });
    const deferred = await report('defer', busy.inFlight[0] ?? '', { retryAfter: 0.5, reason: 'maintenance' });
    expect(deferred.history).toMatchObject([{ status: 'deferred', error: 'maintenance' }]);
    await api.publish(busy.queue.name);
    const probe = await nextDelivery(busy.receiver, 1);
    expect(probe.arrivedAt).toBeGreaterThanOrEqual(at(deferred.scheduledFor) - CLOCK_SLACK_MS);
    await ackAll(busy.queue, 2);
  });
});

describe.concurrent('a probe that reports backpressure', () => {
  it.each(['queue', 'job'])('a probe that is deferred with the scope %s holds the queue again', async (scope) => {
    const busy = await busyQueue({ concurrency: 3, waiting: 8 });
    const { receiver, queue, total } = busy;
    const { probe } = await holdUntilProbe(busy, 0.2);
    await api.waitForStatus(probe.id, 'awaiting_ack');
    const again = await report('defer', probe.id, { retryAfter: 0.6, scope });
    const second = await nextDelivery(receiver, 4);
    expect(second.arrivedAt).toBeGreaterThanOrEqual(at(again.scheduledFor) - CLOCK_SLACK_MS);
    await api.waitForStatus(second.id, 'awaiting_ack');
    expect(await awaitingIds(queue)).toEqual([second.id]);
    const before = Date.now();
    await report('ack', second.id);
    await ackAll(queue, total);
    expect(receiver.requests[5]?.arrivedAt).toBeGreaterThanOrEqual(before - CLOCK_SLACK_MS);
  });

  it('a probe that is answered with backpressure holds the queue again', async () => {
    const busy = await busyQueue({ concurrency: 3, waiting: 8 });
    const { receiver, queue, total } = busy;
    receiver.respondWith(() => {
      receiver.respondWith(CONFIRM);
      return { status: 429, headers: { 'retry-after': '0.6' } };
    });
    const { probe } = await holdUntilProbe(busy, 0.2);
    const held = await api.waitForJob(probe.id, (job) => job.deferCount > 0);
    const second = await nextDelivery(receiver, 4);
    expect(second.arrivedAt).toBeGreaterThanOrEqual(at(held.history[0]?.timestamp) + 600 - CLOCK_SLACK_MS);
    await api.waitForStatus(second.id, 'awaiting_ack');
    expect(await awaitingIds(queue)).toEqual([second.id]);
    await ackAll(queue, total);
  });
});

describe.concurrent('a probe that ends in another way', () => {
  it.each([
    { ends: 'a nack', body: {} },
    { ends: 'a nack for good', body: { retryable: false } },
  ])('lets the queue resume: $ends', async ({ body }) => {
    const busy = await busyQueue({ concurrency: 3, waiting: 8 });
    const { probe } = await holdUntilProbe(busy, 0.2);
    await api.waitForStatus(probe.id, 'awaiting_ack');
    await report('nack', probe.id, body);
    await waitFor(async () => (await awaitingIds(busy.queue)).length === 3);
  });

  it('releases the queue: a failed delivery', async () => {
    const busy = await busyQueue({ concurrency: 3, waiting: 8 });
    busy.receiver.respondWith(() => {
      busy.receiver.respondWith(CONFIRM);
      return { status: 500 };
    });
    const { probe } = await holdUntilProbe(busy, 0.2);
    await waitFor(async () => (await awaitingIds(busy.queue)).length === 3);
    expect((await api.getJob(probe.id)).history[0]).toMatchObject({ status: 'failed', error: 'HTTP 500' });
  });

  it('releases the queue: an ack timeout', async () => {
    const busy = await busyQueue({ concurrency: 3, waiting: 8 }, { ackTimeoutAction: 'dead' });
    const [first = '', ...others] = busy.inFlight;
    // From the next delivery on, which is the probe's.
    await api.updateQueue(busy.queue.id, { ackTimeout: 0.2 });
    await report('defer', first, { retryAfter: 0.3 });
    await Promise.all(others.map((id) => report('ack', id)));
    const probe = await nextDelivery(busy.receiver, 3);
    await api.waitForStatus(probe.id, 'dead');
    // Everything that follows times out as well, three at a time.
    await waitFor(async () => (await api.listJobs(busy.queue.id, '?status=dead')).total === 9);
    const next = await nextDelivery(busy.receiver, 4);
    expect(next.arrivedAt - probe.arrivedAt).toBeGreaterThanOrEqual(200 - CLOCK_SLACK_MS);
  });
});

describe.concurrent('other queues', () => {
  it('are not held', async () => {
    const held = await busyQueue({ concurrency: 1, waiting: 1 });
    await report('defer', held.inFlight[0] ?? '', { retryAfter: 1000 });
    const free = await busyQueue({ concurrency: 1, waiting: 1 });
    await ackAll(free.queue, 2);
    expect(held.receiver.requests).toHaveLength(1);
  });
});
