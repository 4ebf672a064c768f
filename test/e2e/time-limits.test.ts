import { beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { at, CLOCK_SLACK_MS, createGate, openReceiver, startService } from '../support/service.ts';

/** The 15 s of a webhook and the 24 h of a job (D8), both shortened so that they can be waited for. */

const TIMEOUT_MS = 500;
/** Ten times what a busy machine takes for a delivery. */
const LIFETIME_MS = 5000;

describe.concurrent('a webhook that does not answer in time', () => {
  it('is a failed attempt, followed by the next', async () => {
    const { api } = await startService({ WEBHOOK_TIMEOUT_SECONDS: String(TIMEOUT_MS / 1000) });
    const gate = createGate();
    const receiver = await openReceiver(async (request) => {
      if (request.json().attempt === 1) await gate.opened;
      return {};
    });
    // On a busy machine more than one may end like that.
    const settings = { maxAttempts: 25, backoffType: 'fixed', backoffDelay: 0 };
    const queue = await api.createQueue({ webhookUrl: receiver.url, ...settings });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForStatus(id, 'completed');
    gate.open();
    expect(job.history[0]).toMatchObject({ attempt: 1, status: 'failed', error: 'timeout', webhookStatusCode: null });
    expect(job.history.at(-1)).toMatchObject({ attempt: job.attempts, status: 'success', webhookStatusCode: 200 });
    expect(job.attempts).toBeGreaterThan(1);
    expect(at(job.history[0]?.timestamp) - at(job.createdAt)).toBeGreaterThanOrEqual(TIMEOUT_MS - CLOCK_SLACK_MS);
  });
});

describe.concurrent('a delivery lifetime', () => {
  let api: Api;
  beforeAll(async () => {
    ({ api } = await startService({ JOB_LIFETIME_SECONDS: String(LIFETIME_MS / 1000) }));
  });

  it('ends a job that was never delivered', async () => {
    const receiver = await openReceiver({ status: 202 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', concurrency: 1 });
    const first = await api.publish(queue.name);
    await api.waitForStatus(first.id, 'awaiting_ack');
    const { id, createdAt } = await api.publish(queue.name);

    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: 0, history: [], lastError: 'delivery_lifetime_exceeded' });
    const { jobs: letters } = await api.listDeadLetters(queue.id);
    expect(letters).toMatchObject([{ originalJobId: id, history: [] }]);
    expect(at(letters[0]?.deadAt) - at(createdAt)).toBeGreaterThanOrEqual(LIFETIME_MS);
    // A job that was delivered in time may get its report later.
    const acked = await api.call('POST', `/v1/jobs/${first.id}/ack`);
    expect(acked).toMatchObject({ status: 200, body: { status: 'completed' } });
    expect(receiver.requests).toHaveLength(1);
  });

  it('ends a job whose retry would come later', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, backoffType: 'fixed', backoffDelay: 10 });
    const { id } = await api.publish(queue.name);
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ attempts: 1, lastError: 'delivery_lifetime_exceeded' });
    expect(job.history).toMatchObject([
      { attempt: 1, status: 'failed', error: 'delivery_lifetime_exceeded', webhookStatusCode: 500 },
    ]);
    expect((await api.listDeadLetters(queue.id)).jobs).toMatchObject([{ originalJobId: id }]);
  });

  it('begins when a delayed job is due', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const delay = (LIFETIME_MS + 500) / 1000;
    const { id, createdAt } = await api.publish(queue.name, { payload: {}, delay });
    await api.waitForStatus(id, 'completed');
    expect(receiver.requests[0]?.arrivedAt).toBeGreaterThanOrEqual(at(createdAt) + delay * 1000 - CLOCK_SLACK_MS);
  });
});
