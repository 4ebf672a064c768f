import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiAnswer, ApiJob, ApiQueue } from '../support/api.ts';
import { at, CLOCK_SLACK_MS, createGate, openReceiver, startService } from '../support/service.ts';

/** Spec "Ack mode": what a worker's report makes of a job that is awaiting it. */

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

type Verb = 'ack' | 'nack' | 'defer';

function report(verb: Verb, id: string, body?: object): Promise<ApiAnswer<ApiJob & { error?: unknown }>> {
  return api.call('POST', `/v1/jobs/${id}/${verb}`, body);
}

/** An ack queue whose webhook confirms receipt, with one job that awaits its report. */
async function awaiting(overrides: Partial<ApiQueue> = {}) {
  const receiver = await openReceiver({ status: 202 });
  const settings = { mode: 'ack', backoffType: 'fixed', backoffDelay: 0, ...overrides };
  const queue = await api.createQueue({ webhookUrl: receiver.url, ...settings });
  const { id } = await api.publish(queue.name);
  const job = await api.waitForStatus(id, 'awaiting_ack');
  return { receiver, queue, id, job };
}

describe.concurrent('ack', () => {
  it('completes the job that the webhook only confirmed', async () => {
    const { id, job, queue } = await awaiting();
    expect(job).toMatchObject({ attempts: 1, history: [], completedAt: null });
    const { status, body } = await report('ack', id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, queue: queue.name, status: 'completed', attempts: 1, lastError: null });
    expect(body.history).toEqual([
      { attempt: 1, status: 'success', error: null, webhookStatusCode: 202, timestamp: body.completedAt },
    ]);
    expect(await api.getJob(id)).toEqual(body);
  });
});

describe.concurrent('nack', () => {
  it.each([
    { body: undefined, reason: null },
    { body: {}, reason: null },
    { body: { retryable: true, reason: 'model overloaded' }, reason: 'model overloaded' },
  ])('$body sends the job back with backoff', async ({ body, reason }) => {
    const { id, queue } = await awaiting({ backoffDelay: 500 });
    const answer = await report('nack', id, body);
    expect(answer.status).toBe(200);
    const job = answer.body;
    expect(job).toMatchObject({ status: 'pending', attempts: 1, deferCount: 0, lastError: reason ?? 'nacked' });
    expect(job.history).toMatchObject([{ attempt: 1, status: 'nacked', error: reason, webhookStatusCode: 202 }]);
    const waits = at(job.scheduledFor) - at(job.history[0]?.timestamp);
    expect(waits).toBeGreaterThanOrEqual(500_000);
    expect(waits).toBeLessThanOrEqual(550_001);
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });

  it('counts against maxAttempts', async () => {
    const { id, queue, receiver } = await awaiting({ maxAttempts: 2, backoffDelay: 2 });
    expect((await report('nack', id)).body).toMatchObject({ attempts: 1 });
    await api.waitForStatus(id, 'awaiting_ack');
    const { body: job } = await report('nack', id, { reason: 'again' });
    expect(job).toMatchObject({ status: 'dead', attempts: 2, lastError: 'again' });
    expect(job.history.map((entry) => `${entry.attempt} ${entry.status}`)).toEqual(['1 nacked', '2 nacked']);
    expect(receiver.requests.map((request) => request.json().attempt)).toEqual([1, 2]);
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id, history: job.history }]);
  });

  it('a nack that is not retryable kills at once', async () => {
    const { id, queue, receiver } = await awaiting();
    const { status, body } = await report('nack', id, { retryable: false, reason: 'bad input' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'dead', attempts: 1, lastError: 'bad input', completedAt: null });
    expect(body.history).toMatchObject([{ status: 'nacked', error: 'bad input', webhookStatusCode: 202 }]);
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id }]);
    expect(receiver.requests).toHaveLength(1);
  });

  it('makes no dead letter when the queue has them disabled', async () => {
    const { id, queue } = await awaiting({ dlqEnabled: false });
    expect((await report('nack', id, { retryable: false })).body.status).toBe('dead');
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });
});

describe.concurrent('a report that names its attempt', () => {
  it.each<[verb: Verb, body: object]>([
    ['ack', {}],
    ['nack', {}],
    ['defer', { retryAfter: 60 }],
  ])('%s is refused when another one is under way', async (verb, body) => {
    const { id } = await awaiting();
    await report('nack', id, { attempt: 1 });
    await api.waitForStatus(id, 'awaiting_ack');
    const before = await api.getJob(id);
    const refused = await report(verb, id, { ...body, attempt: 1 });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: 'attempt 1 is over, attempt 2 is in flight' },
    });
    const early = await report(verb, id, { ...body, attempt: 3 });
    expect(early).toMatchObject({ status: 400, body: { error: 'attempt 3 has not started, attempt 2 is in flight' } });
    for (const attempt of [0, 1.5, '2', null]) {
      expect((await report(verb, id, { ...body, attempt })).status, String(attempt)).toBe(400);
    }
    expect(await api.getJob(id)).toEqual(before);
    expect(await report(verb, id, { ...body, attempt: 2 })).toMatchObject({ status: 200 });
  });

  it('does not wait for another one that is being delivered', async () => {
    const { id, receiver } = await awaiting();
    const gate = createGate();
    receiver.respondWith(async () => {
      await gate.opened;
      return { status: 202 };
    });
    await report('nack', id);
    await receiver.waitFor(() => receiver.inFlight === 1);
    expect(await report('ack', id, { attempt: 1 })).toMatchObject({
      status: 400,
      body: { error: 'attempt 1 is over, attempt 2 is in flight' },
    });
    gate.open();
  });
});

describe.concurrent('an ack timeout', () => {
  const ACK_TIMEOUT_MS = 300;
  const failure = { status: 'failed', error: 'ack_timeout', webhookStatusCode: 202 };

  it.each([
    { ackTimeoutAction: 'retry', attempts: [1, 2] },
    { ackTimeoutAction: 'dead', attempts: [1] },
  ])('an ack timeout with $ackTimeoutAction: deliveries $attempts', async ({ ackTimeoutAction, attempts }) => {
    const receiver = await openReceiver({ status: 202 });
    const settings = { mode: 'ack', ackTimeout: ACK_TIMEOUT_MS / 1000, backoffType: 'fixed', backoffDelay: 0 };
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 2, ackTimeoutAction, ...settings });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: attempts.length, lastError: 'ack_timeout' });
    expect(job.history).toMatchObject(attempts.map((attempt) => ({ attempt, ...failure })));
    expect(receiver.requests.map((request) => request.json().attempt)).toEqual(attempts);
    for (const [index, request] of receiver.requests.entries()) {
      const waited = at(job.history[index]?.timestamp) - request.arrivedAt;
      expect(waited).toBeGreaterThanOrEqual(ACK_TIMEOUT_MS - CLOCK_SLACK_MS);
    }
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id }]);
    expect((await report('ack', id)).status).toBe(400);
  });
});

describe.concurrent('defer of scope job', () => {
  it('holds this job only', async () => {
    const { id, queue } = await awaiting({ concurrency: 1 });
    const { status, body } = await report('defer', id, { retryAfter: 600.5, scope: 'job', reason: 'busy' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'pending', attempts: 0, deferCount: 1, lastError: 'busy' });
    expect(body.history).toMatchObject([{ attempt: 1, status: 'deferred', error: 'busy', webhookStatusCode: 202 }]);
    expect(at(body.scheduledFor) - at(body.history[0]?.timestamp)).toBe(600_500);
    const other = await api.publish(queue.name);
    await api.waitForStatus(other.id, 'awaiting_ack');
  });

  it('is followed by a delivery with the same attempt number', async () => {
    const { id, receiver } = await awaiting();
    await report('defer', id, { retryAfter: 0, scope: 'job' });
    await api.waitForStatus(id, 'awaiting_ack');
    const { body } = await report('ack', id);
    expect(body).toMatchObject({ status: 'completed', attempts: 1, deferCount: 1 });
    expect(receiver.requests.map((request) => request.json().attempt)).toEqual([1, 1]);
  });
});

describe.concurrent.each(['job', 'queue'])('a defer of scope %s that cannot be granted', (scope) => {
  it.each([
    { why: 'its budget is spent', maxDefers: 0, retryAfter: 0, reason: 'defer_cap_exhausted' },
    { why: 'it outlasts the lifetime', maxDefers: 5, retryAfter: 86_500, reason: 'retry_after_exceeds_lifetime' },
    { why: 'it is absurd', maxDefers: 5, retryAfter: 1e300, reason: 'retry_after_exceeds_lifetime' },
  ])('succeeds, and the job is dead: $why', async ({ maxDefers, retryAfter, reason }) => {
    const { id, queue } = await awaiting({ maxDefers });
    const { status, body } = await report('defer', id, { retryAfter, scope });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: 'dead', attempts: 0, deferCount: 0, lastError: reason });
    expect(body.history).toMatchObject([{ attempt: 1, status: 'deferred', error: reason }]);
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id }]);
    // A queue must not stop for the mistake of one job.
    const other = await api.publish(queue.name);
    await api.waitForStatus(other.id, 'awaiting_ack');
  });
});

describe.concurrent('a report on a job that awaits none', () => {
  const REPORTS: [Verb, object?][] = [['ack'], ['nack', {}], ['defer', { retryAfter: 1 }]];

  it.each(REPORTS)('%s is refused in every other state', async (verb, body) => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return { status: 202 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack' });
    const delayed = await api.publish(queue.name, { payload: {}, delay: 1000 });
    const { id } = await api.publish(queue.name);
    const refused = { status: 400, body: { error: expect.any(String) } };

    expect(await report(verb, delayed.id, body)).toMatchObject(refused);
    await receiver.waitFor(1);
    expect(await report(verb, id, body)).toMatchObject(refused);
    gate.open();
    await api.waitForStatus(id, 'awaiting_ack');
    expect((await report('ack', id)).status).toBe(200);
    expect(await report(verb, id, body)).toMatchObject(refused);
    expect(await api.getJob(id)).toMatchObject({ status: 'completed', attempts: 1, deferCount: 0 });
  });

  it.each(REPORTS)('%s is refused on a standard queue, and for an unknown job', async (verb, body) => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { id } = await api.publish(queue.name);
    await api.waitForStatus(id, 'completed');
    expect(await report(verb, id, body)).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    const unknown = await report(verb, 'f'.repeat(24), body);
    expect(unknown).toMatchObject({ status: 404, body: { error: expect.any(String) } });
  });

  it('one of thirty reports that race wins', async () => {
    const jobs = await Promise.all(Array.from({ length: 4 }, () => awaiting({ backoffDelay: 1000 })));
    for (const { id } of jobs) {
      const race = Array.from({ length: 10 }, () => [
        report('ack', id),
        report('nack', id, { reason: 'late' }),
        report('defer', id, { retryAfter: 1000 }),
      ]);
      const answers = await Promise.all(race.flat());
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(29);
      const job = await api.getJob(id);
      expect(job).toEqual(won[0]?.body);
      expect(job.history).toHaveLength(1);
    }
  });
});

describe.concurrent('awaiting_ack', () => {
  it('keeps the concurrency slot', async () => {
    const { id, queue, receiver } = await awaiting({ concurrency: 1 });
    const next = await api.publish(queue.name);
    expect(await api.getJob(next.id)).toMatchObject({ status: 'pending', attempts: 0 });
    const before = Date.now();
    await report('ack', id);
    await api.waitForStatus(next.id, 'awaiting_ack');
    expect(receiver.requests[1]?.arrivedAt).toBeGreaterThanOrEqual(before - CLOCK_SLACK_MS);
  });

  it.each([
    { verb: 'ack' as const, body: {}, ends: { status: 'completed' } },
    { verb: 'nack' as const, body: {}, ends: { status: 'dead', lastError: 'queue_deleted' } },
    { verb: 'defer' as const, body: { retryAfter: 0 }, ends: { status: 'dead', lastError: 'queue_deleted' } },
  ])('outlives its queue: $verb makes it $ends.status', async ({ verb, body, ends }) => {
    const { id, queue, receiver } = await awaiting();
    expect((await api.call('DELETE', `/v1/queues/${queue.id}`)).status).toBe(204);
    expect(await api.getJob(id)).toMatchObject({ status: 'awaiting_ack' });
    expect(await report(verb, id, body)).toMatchObject({ status: 200, body: ends });
    expect(receiver.requests).toHaveLength(1);
  });
});
