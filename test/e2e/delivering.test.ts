import { beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { monotonicNow, type ReceivedRequest, verifySignature } from '../support/receiver.ts';
import { at, CLOCK_SLACK_MS, createGate, openReceiver, startService } from '../support/service.ts';

/** Spec "States and transitions" and "Receiver response rules" in standard mode, but for backpressure. */

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

const AT_ONCE = { backoffType: 'fixed', backoffDelay: 0 };

describe.concurrent('an answer 2xx', () => {
  it.each([200, 201, 202, 204, 299])('%i completes the job', async (status) => {
    const receiver = await openReceiver({ status });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const published = await api.publish(queue.name, { payload: { n: 1 } });
    expect(published.status).toBe('pending');

    const job = await api.waitForStatus(published.id, 'completed');
    expect(job).toMatchObject({ queue: queue.name, attempts: 1, maxAttempts: 3, deferCount: 0, lastError: null });
    expect(job.history).toEqual([
      { attempt: 1, status: 'success', error: null, webhookStatusCode: status, timestamp: job.completedAt },
    ]);
    expect(receiver.requests).toHaveLength(1);
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });

  it('is waited for in processing', async () => {
    const gate = createGate();
    const receiver = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { id } = await api.publish(queue.name);
    await receiver.waitFor(1);
    expect(await api.getJob(id)).toMatchObject({ status: 'processing', attempts: 1, history: [], completedAt: null });
    gate.open();
    await api.waitForStatus(id, 'completed');
  });
});

describe.concurrent('any other answer', () => {
  it.each([301, 302, 304, 307, 400, 401, 404, 410, 418, 500, 502])(
    '%i is a failed attempt, and the last one makes a dead letter',
    async (status) => {
      const receiver = await openReceiver({ status, headers: { location: '/elsewhere' } });
      const queue = await api.createQueue({ webhookUrl: `${receiver.url}/hook`, maxAttempts: 2, ...AT_ONCE });
      const { id } = await api.publish(queue.name, { payload: { status } });

      const job = await api.waitForStatus(id, 'dead');
      const error = `HTTP ${status}`;
      expect(job).toMatchObject({ attempts: 2, deferCount: 0, lastError: error, completedAt: null });
      expect(job.history).toMatchObject([
        { attempt: 1, status: 'failed', error, webhookStatusCode: status },
        { attempt: 2, status: 'failed', error, webhookStatusCode: status },
      ]);
      expect(receiver.requests.map((request) => [request.path, request.json().attempt])).toEqual([
        ['/hook', 1],
        ['/hook', 2],
      ]);

      const { jobs: letters, total } = await api.listDeadLetters(queue.id);
      expect(total).toBe(1);
      expect(letters).toMatchObject([
        { originalJobId: id, queue: queue.name, payload: { status }, replayedAt: null, replayedJobId: null },
      ]);
      expect(letters[0]?.id).toMatch(/^[0-9a-f]{24}$/);
      expect(letters[0]?.history).toEqual(job.history);
      expect(letters[0]?.deadAt).toBe(job.history[1]?.timestamp);
    },
  );

  it('makes no dead letter when the queue has them disabled', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1, dlqEnabled: false });
    const { id } = await api.publish(queue.name);
    expect(await api.waitForStatus(id, 'dead')).toMatchObject({ attempts: 1, lastError: 'HTTP 500' });
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });

  it('is followed by more attempts until one succeeds', async () => {
    const receiver = await openReceiver((request) => ({ status: request.json().attempt < 3 ? 500 : 200 }));
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 3, ...AT_ONCE });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForStatus(id, 'completed');
    expect(job.attempts).toBe(3);
    expect(job.history.map((entry) => entry.status)).toEqual(['failed', 'failed', 'success']);
    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
  });
});

describe.concurrent('no answer', () => {
  it('a refused connection is a failed attempt', async () => {
    const closed = await openReceiver();
    await closed.close();
    const queue = await api.createQueue({ webhookUrl: closed.url, maxAttempts: 1 });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForStatus(id, 'dead');
    expect(job.lastError).toBe('connection_refused');
    expect(job.history).toMatchObject([
      { attempt: 1, status: 'failed', error: 'connection_refused', webhookStatusCode: null },
    ]);
    expect((await api.listDeadLetters(queue.id)).total).toBe(1);
  });
});

describe.concurrent('a delivery', () => {
  /** Milliseconds from a publish to its delivery, as the machine is now. */
  async function undelayedMs(): Promise<number> {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const startedAt = monotonicNow();
    await api.publish(queue.name);
    const [request] = await receiver.waitFor(1);
    return (request?.arrivedAt ?? 0) - startedAt;
  }

  it('is a signed POST of the envelope', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: `${receiver.url}/hook?tenant=a%20b`, maxAttempts: 7 });
    const other = await api.createQueue({ webhookUrl: receiver.url });
    const published = await api.publish(queue.name, { payload: { text: 'Zoë 🚢', list: [1, null] } });
    const [request] = await receiver.waitFor(1);

    expect(request).toMatchObject({ method: 'POST', path: '/hook?tenant=a%20b' });
    expect(request?.headers['content-type']).toBe('application/json');
    expect(Object.entries(request?.json() ?? {})).toEqual([
      ['id', published.id],
      ['queue', queue.name],
      ['payload', { text: 'Zoë 🚢', list: [1, null] }],
      ['attempt', 1],
      ['maxAttempts', 7],
      ['createdAt', published.createdAt],
    ]);
    const raw = request?.raw ?? Buffer.alloc(0);
    const signature = request?.headers['x-service-signature'];
    expect(signature).toMatch(/^sha256=[0-9a-f]{64}$/);
    expect(verifySignature(raw, signature, queue.signingSecret)).toBe(true);
    expect(verifySignature(raw, signature, other.signingSecret)).toBe(false);
    expect(verifySignature(Buffer.from(JSON.stringify(request?.json(), null, 1)), signature, queue.signingSecret)).toBe(
      false,
    );
  });

  it.each([0, 0.05, 0.6, 1.25])('delayed by %d s is not early, and is prompt', async (delay) => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    // One prompt delivery suffices, so a machine that is busy for a while does no harm. The reconciler alone, which
    // looks every 5 s, would hardly ever be prompt in one of three. On a slow machine prompt is what takes no longer
    // than without a delay.
    let [lateMs, promptMs] = [Number.POSITIVE_INFINITY, 1000];
    for (let run = 1; run <= 3 && lateMs > promptMs; run += 1) {
      promptMs = 1000 + (await undelayedMs());
      const published = await api.publish(queue.name, { payload: {}, delay });
      const due = at(published.createdAt) + delay * 1000;
      expect(at((await api.getJob(published.id)).scheduledFor)).toBe(due);
      const request = (await receiver.waitFor(run)).at(-1);
      lateMs = (request?.arrivedAt ?? 0) - due;
      expect(lateMs).toBeGreaterThanOrEqual(-CLOCK_SLACK_MS);
    }
    expect(lateMs).toBeLessThanOrEqual(promptMs);
  });

  it('can be delayed by a day', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { id, createdAt } = await api.publish(queue.name, { payload: {}, delay: 86_400 });
    const job = await api.getJob(id);
    expect(job).toMatchObject({ status: 'pending', attempts: 0 });
    expect(at(job.scheduledFor) - at(createdAt)).toBe(86_400_000);
  });
});

describe.concurrent('backoff', () => {
  it.each([
    { backoffType: 'fixed', backoffDelay: 0.25, waits: [250, 250, 250] },
    { backoffType: 'exponential', backoffDelay: 0.15, waits: [150, 300, 600] },
  ])('$backoffType: the waits before each retry, with up to a tenth of jitter', async ({ waits, ...backoff }) => {
    // The webhook answers only after the job was read: what a retry waited for is still to be seen then.
    const gates = [...waits, null].map(() => createGate());
    const receiver = await openReceiver(async (request) => {
      await gates[request.json().attempt - 1]?.opened;
      return { status: 500 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: gates.length, ...backoff });
    const { id } = await api.publish(queue.name);
    gates[0]?.open();

    for (const [index, wait] of waits.entries()) {
      const request = (await receiver.waitFor(index + 2))[index + 1] as ReceivedRequest;
      const job = await api.getJob(id);
      expect(job).toMatchObject({ status: 'processing', attempts: index + 2 });
      const failedAt = at(job.history[index]?.timestamp);
      const waited = at(job.scheduledFor) - failedAt;
      expect(waited).toBeGreaterThanOrEqual(wait);
      expect(waited).toBeLessThanOrEqual(wait * 1.1 + 1);
      expect(request.arrivedAt).toBeGreaterThanOrEqual(at(job.scheduledFor) - CLOCK_SLACK_MS);
      gates[index + 1]?.open();
    }
    await api.waitForStatus(id, 'dead');
  });

  it('shows the next attempt in scheduledFor while the job is pending', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, backoffType: 'fixed', backoffDelay: 1000 });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForJob(id, ({ history }) => history.length === 1);
    expect(job).toMatchObject({ status: 'pending', attempts: 1, lastError: 'HTTP 500' });
    const waits = at(job.scheduledFor) - at(job.history[0]?.timestamp);
    expect(waits).toBeGreaterThanOrEqual(1_000_000);
    expect(waits).toBeLessThanOrEqual(1_100_001);
  });
});
