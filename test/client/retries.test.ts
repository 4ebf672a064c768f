import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient, type JobferryClient, JobferryConnectionError, unwrap } from '../../packages/client/src/index.ts';
import { type FlakyProxy, startFlakyProxy } from '../support/flaky-proxy.ts';
import type { Reply } from '../support/receiver.ts';
import { apiKey, startServedClient } from '../support/served-client.ts';
import { openReceiver } from '../support/service.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

const params = { id: UNKNOWN_ID };
const queueName = 'q';

type Call = (client: JobferryClient) => Promise<{ status: number }>;

const REPEATED: [string, Call][] = [
  ['queues.list', ({ queues }) => queues.list()],
  ['queues.get', ({ queues }) => queues.get({ params })],
  ['queues.update', ({ queues }) => queues.update({ params, body: { maxAttempts: 2 } })],
  ['queues.delete', ({ queues }) => queues.delete({ params })],
  ['jobs.list', ({ jobs }) => jobs.list({ params })],
  ['jobs.get', ({ jobs }) => jobs.get({ params })],
  ['deadLetters.list', ({ deadLetters }) => deadLetters.list({ params })],
  [
    'jobs.publish with a key',
    ({ jobs }) => jobs.publish({ params: { queueName }, body: { payload: {}, idempotencyKey: 'k' } }),
  ],
];

const SENT_ONCE: [string, Call][] = [
  ['jobs.publish', ({ jobs }) => jobs.publish({ params: { queueName }, body: { payload: { idempotencyKey: 'k' } } })],
  ['queues.create', ({ queues }) => queues.create({ body: { name: queueName, webhookUrl: 'http://127.0.0.1:9' } })],
  ['jobs.ack', ({ jobs }) => jobs.ack({ params })],
  ['jobs.nack', ({ jobs }) => jobs.nack({ params })],
  ['jobs.defer', ({ jobs }) => jobs.defer({ params, body: { retryAfter: 1 } })],
  ['deadLetters.replay', ({ deadLetters }) => deadLetters.replay({ params: { ...params, jobId: UNKNOWN_ID } })],
  ['deadLetters.replayMany', ({ deadLetters }) => deadLetters.replayMany({ params, body: { all: true } })],
];

const REFUSED = { body: { error: 'not now' } };

async function openServer(...script: Reply[]) {
  let at = 0;
  const receiver = await openReceiver(() => script[Math.min(at++, script.length - 1)]);
  return { receiver, client: createClient({ baseUrl: receiver.url, apiKey, retries: 2 }) };
}

describe('a call that is not answered as it should be', () => {
  it.each(REPEATED)('%s is repeated', async (_name, call) => {
    const { receiver, client } = await openServer({ status: 503, ...REFUSED }, { status: 200, body: {} });
    expect(await call(client)).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(2);
    const [first, second] = receiver.requests;
    expect(second).toMatchObject({ method: first?.method, path: first?.path, raw: first?.raw });
    expect(second?.headers.authorization).toBe(`Bearer ${apiKey}`);
  });

  it.each(SENT_ONCE)('%s is sent once', async (_name, call) => {
    const { receiver, client } = await openServer({ status: 503, ...REFUSED });
    expect(await call(client)).toMatchObject({ status: 503, ...REFUSED });
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([429, 502, 503, 504])('is repeated after %i until the retries are used up', async (status) => {
    const { receiver, client } = await openServer({ status, ...REFUSED });
    expect(await client.queues.list()).toMatchObject({ status, ...REFUSED });
    expect(receiver.requests).toHaveLength(3);
  });

  it.each([400, 401, 402, 404, 409, 410, 500])('is not repeated after %i', async (status) => {
    const { receiver, client } = await openServer({ status, ...REFUSED });
    expect(await client.queues.list()).toMatchObject({ status });
    expect(receiver.requests).toHaveLength(1);
  });

  it('is not repeated before Retry-After', async () => {
    const headers = { 'retry-after': '1' };
    const { receiver, client } = await openServer({ status: 503, headers }, { status: 200, body: [] });
    await client.queues.list();
    const [first, second] = receiver.requests.map(({ arrivedAt }) => arrivedAt);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(990);
  });

  it.each(['3600', new Date(Date.now() + 3_600_000).toUTCString()])(
    'is answered at once when it should come back much later (Retry-After: %s)',
    async (retryAfter) => {
      const { receiver, client } = await openServer({ status: 429, headers: { 'retry-after': retryAfter } });
      expect(await client.queues.list()).toMatchObject({ status: 429 });
      expect(receiver.requests).toHaveLength(1);
    },
  );

  it.each(['nonsense', '-5', new Date(0).toUTCString()])('is repeated soon after "Retry-After: %s"', async (value) => {
    const headers = { 'retry-after': value };
    const { client } = await openServer({ status: 503, headers }, { status: 200, body: [] });
    expect(await client.queues.list()).toMatchObject({ status: 200 });
  });

  it('is given up after timeoutMs, and repeated', async () => {
    const { receiver } = await openServer({ delayMs: 60_000 });
    const client = createClient({ baseUrl: receiver.url, apiKey, timeoutMs: 100, retries: 1 });
    const error = await client.queues.list().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobferryConnectionError);
    expect(error).toMatchObject({ attempts: 2, cause: { name: 'TimeoutError' } });
    await expect(client.jobs.ack({ params })).rejects.toMatchObject({ attempts: 1 });
  });

  it('ends with the reason of its signal, under way or between attempts', async () => {
    const { receiver, client } = await openServer({ delayMs: 60_000 });
    const underWay = new AbortController();
    const pending = client.queues.list({ signal: underWay.signal });
    await receiver.waitFor(1);
    underWay.abort(new Error('changed my mind'));
    await expect(pending).rejects.toThrow('changed my mind');

    receiver.respondWith({ status: 503, headers: { 'retry-after': '30' } });
    const between = new AbortController();
    const waiting = client.queues.list({ signal: between.signal });
    await receiver.waitFor((requests) => requests[1]?.answeredAt != null);
    between.abort(new Error('too slow'));
    await expect(waiting).rejects.toThrow('too slow');
    await expect(client.queues.list({ signal: AbortSignal.abort(new Error('never')) })).rejects.toThrow('never');
    expect(receiver.requests).toHaveLength(2);
  });

  it('rejects with the cause when no server listens', async () => {
    const { receiver, client } = await openServer({});
    await receiver.close();
    const error = await client.queues.list().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(JobferryConnectionError);
    expect(error).toMatchObject({
      name: 'JobferryConnectionError',
      attempts: 3,
      message: expect.stringMatching(/^GET .+ failed after 3 attempts: .*ECONNREFUSED/),
      cause: expect.any(Error),
    });
  });

  it('goes through the fetch that it was given', async () => {
    const urls: string[] = [];
    const { receiver } = await openServer({ status: 200, body: [] });
    const fetch = (url: string, init: RequestInit) => {
      urls.push(url);
      return urls.length === 1 ? Promise.reject(new Error('no network')) : globalThis.fetch(url, init);
    };
    const client = createClient({ baseUrl: `${receiver.url}/`, apiKey, fetch });
    expect(await client.queues.list()).toMatchObject({ status: 200 });
    expect(urls).toEqual([`${receiver.url}/v1/queues`, `${receiver.url}/v1/queues`]);
  });
});

describe('a real service behind a connection that is cut', () => {
  let direct: JobferryClient;
  let proxy: FlakyProxy;
  let client: JobferryClient;
  let queue: { id: string; name: string };

  beforeAll(async () => {
    const service = await startServedClient();
    direct = service.client;
    proxy = await startFlakyProxy(service.baseUrl);
    client = createClient({ baseUrl: proxy.url, apiKey });
  });

  beforeEach(async ({ task }) => {
    const body = { name: `q-${task.id}`, webhookUrl: 'http://127.0.0.1:9/' };
    queue = await unwrap(direct.queues.create({ body }));
  });

  const listed = () => unwrap(direct.jobs.list({ params: { id: queue.id } }));

  it('makes one job of a publish with an idempotency key', async () => {
    proxy.fail('cut before', 'cut after', 'none');
    const body = { payload: { n: 1 }, idempotencyKey: 'order-7', delay: 600 };
    const result = await client.jobs.publish({ params: { queueName: queue.name }, body });
    // The second request created it, and the third found it.
    if (result.status !== 200) throw new Error(`answered ${result.status}`);
    expect(proxy.requests).toHaveLength(3);
    expect((await listed()).jobs).toMatchObject([{ id: result.body.id }]);
  });

  it('does not publish twice without one, and reports that the answer was lost', async () => {
    proxy.fail('cut after');
    const publish = client.jobs.publish({ params: { queueName: queue.name }, body: { payload: {}, delay: 600 } });
    await expect(publish).rejects.toMatchObject({ name: 'JobferryConnectionError', attempts: 1 });
    expect(await listed()).toMatchObject({ total: 1 });
  });

  it('answers 404 to a delete that is repeated although it was done', async () => {
    proxy.fail('cut after');
    expect(await client.queues.delete({ params: { id: queue.id } })).toMatchObject({ status: 404 });
  });
});
