import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Delivery, expressHandler } from '../../src/client/webhook/index.ts';
import { REPORT_URL_MS, signedReportText, unsignedReportUrl } from '../../src/domain/report-url.ts';
import type { Api, ApiQueue } from '../support/api.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { openReceiver, startService } from '../support/service.ts';
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
  const { id } = await api.publish(queue.name, { payload: { n: 1 } });
  await api.waitForStatus(id, 'awaiting_ack');
  return { receiver, queue, id, url: String(receiver.requests[0]?.headers['x-jobferry-report-url']) };
}

const INVALID = { status: 404, body: { error: 'this report URL is not valid, or its time is over' } };

describe.concurrent('a report URL', () => {
  it('takes each report, shows the job, and extends its deadline', async () => {
    const { id, url } = await awaiting();
    expect(url).toMatch(new RegExp(`^${base}/report/${id}\\.1\\.\\d+\\.[0-9a-f]{64}$`));
    expect(await (await fetch(url)).json()).toMatchObject({ id, status: 'awaiting_ack', payload: { n: 1 } });
    const extended = await post(`${url}/extend`, { seconds: 1000, progress: 'half' });
    expect(Date.parse(String(extended.body.deadline))).toBeGreaterThan(Date.now() + 900_000);
    expect(await post(`${url}/ack`)).toMatchObject({ status: 200, body: { id, status: 'completed' } });
    expect((await post(`${url}/ack`)).status).toBe(400);

    const failing = await awaiting();
    const nack = await post(`${failing.url}/nack`, { retryable: false, reason: 'no such cat' });
    expect(nack).toMatchObject({ status: 200, body: { status: 'dead', lastError: 'no such cat' } });

    const busy = await awaiting();
    const defer = await post(`${busy.url}/defer`, { retryAfter: 60, scope: 'job' });
    expect(defer).toMatchObject({ status: 200, body: { status: 'pending', deferCount: 1 } });
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

  it('is refused when it is forged, of another job, or too old', async () => {
    const { id, url, queue } = await awaiting();
    const other = await awaiting();
    const [, signature = ''] = /([0-9a-f]{64})$/.exec(url) ?? [];
    const changed = url.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const secret = queue.signingSecret ?? '';
    const old = unsignedReportUrl(base, { jobId: id, attempt: 1, expiresAt: Date.now() - 1 });
    const signed = createHmac('sha256', secret).update(signedReportText(old)).digest('hex');
    const gone = unsignedReportUrl(base, { jobId: 'f'.repeat(24), attempt: 1, expiresAt: Date.now() + 1000 });
    for (const forged of [
      ...[changed, url.replace(id, other.id), url.replace('.1.', '.2.'), `${old}.${signed}`, `${gone}.${signature}`],
      ...[`${base}/report/x`, `${base}/report/${'x'.repeat(5000)}`, `${base}/report/%00`],
    ]) {
      expect(await post(`${forged}/ack`)).toEqual(INVALID);
    }
    // Signed as a delivery is: nothing that is delivered begins like the text of a URL.
    expect(signedReportText(url)).not.toMatch(/^\{/);
    expect(await post(`${url}/ack`)).toMatchObject({ status: 200 });
    expect(REPORT_URL_MS).toBe(7 * 24 * 3600 * 1000);
  });

  it('has the errors of the contract', async () => {
    const { url } = await awaiting();
    expect(await post(`${url}/defer`, {})).toEqual({ status: 400, body: { error: 'retryAfter: Required' } });
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
    const errors: string[] = [];
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
    expect([seen.length, errors]).toEqual([1, []]);
  });
});
