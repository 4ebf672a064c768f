import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiJob, ApiQueue } from '../support/api.ts';
import type { Reply } from '../support/receiver.ts';
import { at, CLOCK_SLACK_MS, createGate, openReceiver, startService } from '../support/service.ts';

/** Spec "Receiver response rules" for 429, 503 and 529: hold, redeliver, and burn no attempt (D6, D7, D8). */

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

const DAY = 86_400;
const HTTP_DATE_AHEAD = new Date(Math.ceil(Date.now() / 1000) * 1000 + 500_000);

/** Publishes one job to a webhook with a fixed answer, or with one answer per delivery; the last one stays. */
async function publishTo(replies: Reply[], overrides: Partial<ApiQueue> = {}) {
  const receiver = await openReceiver(() => replies[receiver.requests.length - 1] ?? replies.at(-1));
  const settings = { backoffType: 'fixed', backoffDelay: 0, ...overrides };
  const queue = await api.createQueue({ webhookUrl: receiver.url, ...settings });
  const { id } = await api.publish(queue.name);
  const attempts = () => receiver.requests.map((request) => request.json().attempt);
  return { receiver, queue, id, attempts };
}

function retryAfter(value: string | string[], status = 429): Reply {
  return { status, headers: { 'retry-after': value } };
}

function holdOf(job: ApiJob): number {
  return at(job.scheduledFor) - at(job.history.at(-1)?.timestamp);
}

describe.concurrent('a hold of less than a second', () => {
  const PAST = 'Mon, 01 Jan 2024 00:00:00 GMT';
  it.each(['0', '-5', '0.001', PAST])('is granted three times in a row, then grows: Retry-After %s', async (value) => {
    // The receiver answers the next delivery only after the job was read.
    const gates = [createGate(), createGate()];
    const receiver = await openReceiver(async () => {
      const delivered = receiver.requests.length;
      await gates[delivered - 5]?.opened;
      return delivered <= 4 ? retryAfter(value) : retryAfter('0');
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxDefers: 50 });
    const { id } = await api.publish(queue.name);
    expect(holdOf(await api.waitForJob(id, ({ deferCount }) => deferCount === 4))).toBe(1000);
    gates[0]?.open();
    expect(holdOf(await api.waitForJob(id, ({ deferCount }) => deferCount === 5))).toBe(2000);
    gates[1]?.open();
  });

  it('counts in ack mode, too, and holds the queue as long', async () => {
    const { id } = await publishTo([{ status: 202 }], { mode: 'ack' });
    let deferred: ApiJob | undefined;
    for (let count = 1; count <= 4; count += 1) {
      await api.waitForStatus(id, 'awaiting_ack');
      const body = { retryAfter: 0, attempt: 1 };
      ({ body: deferred } = await api.call<ApiJob>('POST', `/v1/jobs/${id}/defer`, body));
    }
    expect(deferred && holdOf(deferred)).toBe(1000);
    await api.waitForStatus(id, 'awaiting_ack');
    await api.call('POST', `/v1/jobs/${id}/ack`);
    expect(await api.waitForStatus(id, 'completed')).toMatchObject({ deferCount: 4, attempts: 1 });
  });
});

describe.concurrent('a backpressure answer', () => {
  it.each([429, 503, 529])('%i holds the job for 60 s without a Retry-After', async (status) => {
    const { id, queue } = await publishTo([{ status }]);
    const job = await api.waitForJob(id, ({ history }) => history.length === 1);
    expect(job).toMatchObject({ status: 'pending', attempts: 0, deferCount: 1, lastError: `HTTP ${status}` });
    expect(job.history).toMatchObject([
      { attempt: 1, status: 'deferred', error: `HTTP ${status}`, webhookStatusCode: status },
    ]);
    expect(holdOf(job)).toBe(60_000);
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });

  it.each([
    { value: '100', holdMs: 100_000 },
    { value: ' 7 ', holdMs: 7000 },
    { value: '2.5', holdMs: 2500 },
    { value: '86390', holdMs: 86_390_000 },
    { value: 'soon', holdMs: 60_000 },
    { value: '12 seconds', holdMs: 60_000 },
    { value: '1e3', holdMs: 60_000 },
    { value: '2099-01-01T00:00:00Z', holdMs: 60_000 },
    { value: '', holdMs: 60_000 },
    { value: ['100', '200'], holdMs: 200_000 },
  ])('a backpressure answer with Retry-After "$value" holds for $holdMs ms', async ({ value, holdMs }) => {
    const { id } = await publishTo([retryAfter(value)]);
    const job = await api.waitForJob(id, ({ history }) => history.length === 1);
    expect(job).toMatchObject({ status: 'pending', attempts: 0, deferCount: 1 });
    expect(holdOf(job)).toBe(holdMs);
  });

  it('a backpressure answer with an HTTP date holds until then', async () => {
    const { id } = await publishTo([retryAfter(HTTP_DATE_AHEAD.toUTCString(), 503)]);
    const job = await api.waitForJob(id, ({ history }) => history.length === 1);
    const late = at(job.scheduledFor) - HTTP_DATE_AHEAD.getTime();
    expect(late).toBeGreaterThanOrEqual(-CLOCK_SLACK_MS);
    // Later by the time that the answer took to be written down.
    expect(late).toBeLessThan(100_000);
  });

  it.each(['0', '-5', 'Sun, 06 Nov 1994 08:49:37 GMT'])(
    'a backpressure answer with Retry-After "%s" is redelivered at once',
    async (value) => {
      const { id, attempts } = await publishTo([retryAfter(value, 529), { status: 200 }]);
      const job = await api.waitForStatus(id, 'completed');
      expect(job).toMatchObject({ attempts: 1, deferCount: 1 });
      expect(job.history).toMatchObject([
        { attempt: 1, status: 'deferred', webhookStatusCode: 529 },
        { attempt: 1, status: 'success', webhookStatusCode: 200 },
      ]);
      expect(attempts()).toEqual([1, 1]);
    },
  );

  it('is not redelivered early', async () => {
    const { id, receiver } = await publishTo([retryAfter('0.7'), { status: 200 }]);
    const job = await api.waitForStatus(id, 'completed');
    const heldAt = at(job.history[0]?.timestamp);
    expect(receiver.requests[1]?.arrivedAt).toBeGreaterThanOrEqual(heldAt + 700 - CLOCK_SLACK_MS);
  });

  it('burns no attempt between failures that do', async () => {
    const replies = [{ status: 500 }, retryAfter('0'), retryAfter('0'), { status: 500 }];
    const { id, attempts } = await publishTo(replies, { maxAttempts: 2 });
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: 2, deferCount: 2, lastError: 'HTTP 500' });
    expect(job.history.map((entry) => `${entry.attempt} ${entry.status}`)).toEqual([
      '1 failed',
      '2 deferred',
      '2 deferred',
      '2 failed',
    ]);
    expect(attempts()).toEqual([1, 2, 2, 2]);
  });

  it('holds nothing but its job', async () => {
    const receiver = await openReceiver((request) => {
      return (request.json().payload as { busy: boolean }).busy ? retryAfter('600') : {};
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, concurrency: 1 });
    const busy = await api.publish(queue.name, { payload: { busy: true } });
    const free = await api.publish(queue.name, { payload: { busy: false } });
    await api.waitForStatus(free.id, 'completed');
    expect(await api.getJob(busy.id)).toMatchObject({ status: 'pending', deferCount: 1 });
  });

  it('means the same in ack mode', async () => {
    const { id } = await publishTo([retryAfter('600')], { mode: 'ack' });
    const job = await api.waitForJob(id, ({ history }) => history.length === 1);
    expect(job).toMatchObject({ status: 'pending', attempts: 0, deferCount: 1 });
    expect(holdOf(job)).toBe(600_000);
  });
});

describe.concurrent('the budget of holds', () => {
  it.each([0, 1, 3])('a budget of %i holds: the next hold kills', async (maxDefers) => {
    const { id, queue, attempts } = await publishTo([retryAfter('0')], { maxDefers });
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: 0, deferCount: maxDefers, lastError: 'defer_cap_exhausted' });
    expect(attempts()).toEqual(Array(maxDefers + 1).fill(1));
    expect(job.history.map((entry) => entry.status)).toEqual(Array(maxDefers + 1).fill('deferred'));
    expect(job.history.at(-1)).toMatchObject({ error: 'defer_cap_exhausted', webhookStatusCode: 429 });
    const { jobs: letters } = await api.listDeadLetters(queue.id);
    expect(letters).toMatchObject([{ originalJobId: id, history: job.history }]);
  });

  it('kills without a dead letter when the queue has them disabled', async () => {
    const { id, queue } = await publishTo([retryAfter('0')], { maxDefers: 0, dlqEnabled: false });
    await api.waitForStatus(id, 'dead');
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });
});

describe.concurrent('a hold past the delivery lifetime', () => {
  const beyond = new Date(HTTP_DATE_AHEAD.getTime() + DAY * 1000).toUTCString();

  it.each([String(DAY + 60), '9'.repeat(30), beyond])('kills: Retry-After "%s"', async (value) => {
    const { id, queue } = await publishTo([retryAfter(value)]);
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: 0, deferCount: 0, lastError: 'retry_after_exceeds_lifetime' });
    expect(job.history).toMatchObject([
      { attempt: 1, status: 'deferred', error: 'retry_after_exceeds_lifetime', webhookStatusCode: 429 },
    ]);
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id }]);
  });
});
