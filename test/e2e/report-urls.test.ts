import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Delivery, expressHandler } from '../../packages/client/src/webhook/index.ts';
import { createUrlCalls } from '../../packages/client/src/webhook/job-calls.ts';
import { signedReportText, unsignedReportUrl } from '../../src/domain/report-url.ts';
import type { Api, ApiQueue } from '../support/api.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { openReceiver, startService } from '../support/service.ts';
import { DATE_TIME } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/** Reports by the signed URL that an ack-mode delivery brings: a receiver needs no key. */

let api: Api;
let base: string;

beforeAll(async () => {
  const port = await lastingPort();
  base = `http://127.0.0.1:${port}`;
  ({ api } = await startService({ PORT: String(port), REPORT_URL: `${base}/` }));
});

async function post(url: string, body?: object) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, {
    method: 'POST',
    ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A job that awaits its report, and the URL that its delivery brought. */
async function awaiting(overrides: Partial<ApiQueue> = {}) {
  const receiver = await openReceiver({ status: 202 });
  const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', backoffDelay: 0, ...overrides });
  const { id } = await api.publish(queue.name, {
    payload: { card: '4111 1111' },
    idempotencyKey: `customer-${queue.name}`,
  });
  await api.waitForStatus(id, 'awaiting_ack');
  return { receiver, queue, id, url: String(receiver.requests[0]?.headers['x-jobferry-report-url']) };
}

const INVALID = { status: 404, body: { error: 'this report URL is not valid, or its time is over' } };

describe.concurrent('a report URL', () => {
  it('takes each report, shows the job, and extends its deadline', async () => {
    const { id, url, queue } = await awaiting();
    expect(url).toMatch(new RegExp(`^${base}/report/${id}\\.1\\.${queue.id}\\.\\d+\\.[0-9a-f]{64}$`));
    const shown = { id, queue: queue.name, status: 'awaiting_ack', attempts: 1, history: [] };
    expect(await (await fetch(url)).json()).toEqual(shown);
    const extended = await post(`${url}/extend`, { seconds: 1000, progress: 'half' });
    expect(Date.parse(String(extended.body.deadline))).toBeGreaterThan(Date.now() + 900_000);
    const success = { attempt: 1, status: 'success', error: null, webhookStatusCode: 202, timestamp: DATE_TIME };
    const completed = { ...shown, status: 'completed', history: [success] };
    expect(await post(`${url}/ack`)).toEqual({ status: 200, body: completed });
    expect(await (await fetch(url)).json()).toEqual(completed);
    const again = await post(`${url}/ack`);
    expect(again).toMatchObject({ status: 400 });
    expect(JSON.stringify(again)).not.toMatch(/4111|customer/);

    const failing = await awaiting();
    const nack = await post(`${failing.url}/nack`, { retryable: false, reason: 'no such cat' });
    const reported = { queue: expect.any(String), attempts: 1, id: failing.id };
    expect(nack).toEqual({ status: 200, body: { ...reported, status: 'dead', history: [expect.anything()] } });
    expect(nack.body.history).toMatchObject([{ status: 'nacked', error: 'no such cat' }]);

    const busy = await awaiting();
    const defer = await post(`${busy.url}/defer`, { retryAfter: 60, scope: 'job' });
    expect(defer).toMatchObject({ status: 200, body: { status: 'pending', history: [{ status: 'deferred' }] } });
    expect(Object.keys(defer.body)).toEqual(Object.keys(shown));
  });

  it('is for one attempt', async () => {
    const { id, url, receiver } = await awaiting();
    await post(`${url}/nack`);
    await waitFor(() => receiver.requests.length === 2, { message: 'the second attempt' });
    await api.waitForStatus(id, 'awaiting_ack');
    const late = await post(`${url}/ack`);
    expect(late).toMatchObject({ status: 400, body: { error: 'attempt 1 is over, attempt 2 is in flight' } });
    const second = String(receiver.requests[1]?.headers['x-jobferry-report-url']);
    expect((await post(`${second}/ack`)).status).toBe(200);
  });

  it('refuses an extension by texts from which the client knows that the attempt is over', async () => {
    const { id, url, receiver, queue } = await awaiting();
    const extend = async (to: string, seconds = 7) =>
      createUrlCalls(to, id).extend({ attempt: 1, seconds, progress: undefined });
    expect(await extend(url, -7)).toMatchObject({ status: 400, isOver: false });
    await post(`${url}/nack`);
    await waitFor(() => receiver.requests.length === 2, { message: 'the second attempt' });
    await api.waitForStatus(id, 'awaiting_ack');
    expect(await extend(url)).toMatchObject({ status: 400, isOver: true });
    const second = String(receiver.requests[1]?.headers['x-jobferry-report-url']);
    await post(`${second}/ack`);
    expect(await extend(second)).toMatchObject({ status: 400, isOver: true });
    expect(await extend(`${base}/report/x`)).toMatchObject({ status: 404, isOver: true });
    await api.updateQueue(queue.id, { mode: 'standard' });
    expect(await extend(second)).toMatchObject({ status: 400, isOver: true });
  });

  it('is refused when it is forged, of another job, or too old', async () => {
    const { id, url, queue } = await awaiting();
    const other = await awaiting();
    const changed = url.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const target = { jobId: id, queueId: queue.id, attempt: 1, expiresAt: Date.now() + 100_000 };
    const signed = (parts: Partial<typeof target>) => {
      const unsigned = unsignedReportUrl(base, { ...target, ...parts });
      const text = signedReportText(unsigned);
      return `${unsigned}.${createHmac('sha256', queue.signingSecret ?? '')
        .update(text)
        .digest('hex')}`;
    };
    for (const forged of [
      ...[changed, url.replace(id, other.id), url.replace('.1.', '.2.'), url.replace(queue.id, other.queue.id)],
      // With the secret of the queue: too old, of a job that is gone, of a job of another queue.
      ...[signed({ expiresAt: Date.now() - 1 }), signed({ jobId: 'f'.repeat(24) }), signed({ jobId: other.id })],
      ...[`${base}/report/x`, `${base}/report/${'x'.repeat(5000)}`, `${base}/report/%00`],
    ]) {
      expect(await post(`${forged}/ack`)).toEqual(INVALID);
    }
    expect(await post(`${signed({})}/ack`)).toMatchObject({ status: 200 });
  });

  it('is signed with both secrets during a rotation', async () => {
    const { queue, receiver, url } = await awaiting();
    const query = `mutation ($id: ID!) { rotateSigningSecret(queueId: $id, overlapSeconds: 60) {
         ... on RotateSigningSecretPayload { signingSecret } } }`;
    const { body } = await api.call<{ data: { rotateSigningSecret: { signingSecret: string } } }>('POST', '/graphql', {
      query,
      variables: { id: queue.id },
    });
    const next = body.data.rotateSigningSecret.signingSecret;
    const { id } = await api.publish(queue.name);
    await api.waitForStatus(id, 'awaiting_ack');
    const headers = receiver.requests[1]?.headers ?? {};
    const urls = ['x-jobferry-report-url', 'x-jobferry-report-url-next'].map((name) => String(headers[name]));
    for (const [at, secret] of [queue.signingSecret ?? '', next].entries()) {
      const [, unsigned = '', signature] = /^(.*)\.(.*)$/.exec(urls[at] ?? '') ?? [];
      expect(signature).toBe(createHmac('sha256', secret).update(signedReportText(unsigned)).digest('hex'));
      expect((await post(`${urls[at]}/extend`, { seconds: 100 })).status).toBe(200);
    }
    expect((await post(`${url}/ack`)).status).toBe(200);
  });

  it('has the errors of the contract', async () => {
    const { url } = await awaiting();
    expect(await post(`${url}/defer`, {})).toEqual({ status: 400, body: { error: 'retryAfter: must be given' } });
    expect((await post(`${url}/extend`, { seconds: 'soon' })).body.error).toMatch(/^seconds: /);
    expect((await post(`${url}/extend`, { seconds: 1, progress: '\0' })).status).toBe(400);
    expect(await post(`${url}/vanish`)).toMatchObject({ status: 404 });
    const text = await fetch(`${url}/nack`, { method: 'POST', body: '{', headers: { 'content-type': 'text/plain' } });
    expect(text.status).toBe(415);
    const form = await fetch(`${url}/nack`, {
      method: 'POST',
      body: '{',
      headers: { 'content-type': 'application/json' },
    });
    expect(form.status).toBe(400);
  });

  it('is in no delivery of standard mode', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    await api.publish(queue.name);
    await waitFor(() => receiver.requests.length === 1, { message: 'the delivery' });
    expect(receiver.requests[0]?.headers).not.toHaveProperty('x-jobferry-report-url');
  });

  it('lets a handler report without a key, and is verified by it', async () => {
    const seen: Delivery<unknown>[] = [];
    let secret = '';
    const handle = expressHandler({ secret: () => secret, mode: 'ack', onError: () => undefined }, async (delivery) => {
      seen.push(delivery);
      await delivery.extend(100, 'begun');
    });
    const forging = { isOn: false };
    const server = createServer((req, res) => {
      if (forging.isOn) req.headers['x-jobferry-report-url'] = `http://127.0.0.1:9/report/x.${'0'.repeat(64)}`;
      void handle(req, res);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const webhookUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const queue = await api.createQueue({ webhookUrl, mode: 'ack', maxAttempts: 1 });
    secret = queue.signingSecret ?? '';
    const { id } = await api.publish(queue.name);
    await api.waitForStatus(id, 'completed');
    expect(seen).toHaveLength(1);
    forging.isOn = true;
    const { id: refused } = await api.publish(queue.name);
    expect(await api.waitForStatus(refused, 'dead')).toMatchObject({ lastError: 'HTTP 500' });
    expect(seen).toHaveLength(1);
  });
});
