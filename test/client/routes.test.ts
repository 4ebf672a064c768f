import { beforeAll, describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  createClient,
  JobferryApiError,
  type JobferryClient,
  JobferryConnectionError,
  type Queue,
  rawJson,
  unwrap,
} from '../../packages/client/src/index.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import type { Receiver } from '../support/receiver.ts';
import { apiKey, startServedClient, waitForJob } from '../support/served-client.ts';
import { openReceiver } from '../support/service.ts';
import { DATE_TIME, ID, UNKNOWN_ID } from '../support/shapes.ts';

let client: JobferryClient;
let baseUrl: string;
let receiver: Receiver;

beforeAll(async () => {
  ({ client, baseUrl } = await startServedClient());
  receiver = await openReceiver((request) => ({ status: request.path === '/dead' ? 500 : 200 }));
});

let queuesMade = 0;

function createQueue(settings: { path?: string; mode?: 'ack'; maxAttempts?: number } = {}) {
  const { path = '/', ...rest } = settings;
  const body = { name: `typed-${++queuesMade}`, webhookUrl: `${receiver.url}${path}`, ...rest };
  return unwrap(client.queues.create({ body }));
}

async function publish(queueName: string, payload: object = {}): Promise<string> {
  return (await unwrap(client.jobs.publish({ params: { queueName }, body: { payload } }))).id;
}

describe('the client', () => {
  it('creates, gets, lists, changes and deletes queues', async () => {
    const created = await client.queues.create({ body: { name: 'emails', webhookUrl: receiver.url } });
    if (created.status !== 201) throw new Error(`answered ${created.status}`);
    const { signingSecret, ...queue } = created.body;
    expectTypeOf(signingSecret).toEqualTypeOf<string>();
    expectTypeOf(created.body.createdAt).toEqualTypeOf<string>();
    expect(queue).toMatchObject({ id: ID, name: 'emails', createdAt: DATE_TIME });

    const params = { id: queue.id };
    expect(await client.queues.get({ params })).toMatchObject({ status: 200, body: queue });
    expect(await client.queues.list()).toMatchObject({ status: 200, body: [queue] });
    const changed = await unwrap(client.queues.update({ params, body: { concurrency: 7 } }));
    expectTypeOf(changed).toEqualTypeOf<Queue>();
    expect(changed).toEqual({ ...queue, concurrency: 7 });
    expect(await client.queues.delete({ params })).toMatchObject({ status: 204, body: undefined });
    expect(await client.queues.get({ params })).toMatchObject({ status: 404, body: { error: expect.any(String) } });
  });

  it('is told when a webhook has an address that deliveries may not reach', async () => {
    const made = await client.queues.create({ body: { name: 'inside', webhookUrl: 'http://192.168.1.10:8000/hook' } });
    const { id } = await unwrap(made);
    const warning = /^192\.168\.1\.10 is not a public address.+WEBHOOK_ALLOW_CIDRS$/;
    expect(made.headers.get('x-jobferry-warning')).toMatch(warning);
    const graphql = createGraphQLClient(baseUrl, apiKey);
    const query = 'query ($id: ID!) { queue(id: $id) { addressWarning } }';
    expect((await graphql.query(query, { id })).queue.addressWarning).toMatch(warning);
    // A form asks before it creates the queue.
    const asked = 'query ($url: String!) { addressWarning(webhookUrl: $url) }';
    const warnings = ['http://192.168.1.10:8000/hook', receiver.url, 'http'].map((url) =>
      graphql.query(asked, { url }),
    );
    expect((await Promise.all(warnings)).map(({ addressWarning }) => addressWarning)).toEqual([
      ...[expect.stringMatching(warning), null, null],
    ]);
    // Loopback is allowed outside production, and a name is not looked up.
    for (const webhookUrl of [receiver.url, 'http://localhost:8000/', 'https://inside.example/']) {
      const changed = await client.queues.update({ params: { id }, body: { webhookUrl } });
      expect([changed.status, changed.headers.get('x-jobferry-warning')]).toEqual([200, null]);
    }
    const literal = await client.queues.update({ params: { id }, body: { webhookUrl: 'http://[fe80::1]/' } });
    expect(literal.headers.get('x-jobferry-warning')).toMatch(/^fe80::1 is not/);
  });

  it('publishes, gets and lists jobs', async () => {
    const queue = await createQueue();
    interface Email {
      to: string;
    }
    const payload: Email = { to: 'ada@example.org' };
    const input = { params: { queueName: queue.name }, body: { payload, idempotencyKey: 'once' } };
    const first = await client.jobs.publish(input);
    expect(first).toMatchObject({ status: 201, body: { id: ID, status: 'pending', createdAt: DATE_TIME } });
    const { id } = await unwrap(client.jobs.publish(input));
    expect(first.body).toMatchObject({ id });

    const job = await waitForJob(client, id, ({ status }) => status === 'completed');
    expectTypeOf(job.completedAt).toEqualTypeOf<string | null>();
    expectTypeOf(job.payload).toEqualTypeOf<Record<string, unknown>>();
    expectTypeOf(job.history[0]?.timestamp).toEqualTypeOf<string | undefined>();
    expect(job).toMatchObject({ payload, idempotencyKey: 'once', completedAt: DATE_TIME });
    const query = { status: 'completed', idempotencyKey: 'ONCE', limit: 10, from: queue.createdAt } as const;
    const page = await unwrap(client.jobs.list({ params: { id: queue.id }, query }));
    expectTypeOf(page.appliedFrom).toEqualTypeOf<string>();
    expect(page).toMatchObject({ jobs: [job], total: 1, page: 1, limit: 10 });
    expect(await unwrap(client.jobs.list({ params: { id: queue.id } }))).toMatchObject({ total: 1 });
  });

  it('reports by ack, nack and defer', async () => {
    const queue = await createQueue({ mode: 'ack' });
    const awaiting = async () => {
      const id = await publish(queue.name);
      await waitForJob(client, id, ({ status }) => status === 'awaiting_ack');
      return { id };
    };
    const acked = await awaiting();
    expect(await unwrap(client.jobs.ack({ params: acked }))).toMatchObject({ status: 'completed' });
    expect(await client.jobs.ack({ params: acked })).toMatchObject({
      status: 400,
      body: { error: expect.any(String) },
    });

    expect(await unwrap(client.jobs.nack({ params: await awaiting() }))).toMatchObject({ status: 'pending' });
    const nacked = client.jobs.nack({ params: await awaiting(), body: { retryable: false, reason: 'bad' } });
    expect(await unwrap(nacked)).toMatchObject({ status: 'dead', lastError: 'bad' });
    const body = { retryAfter: 600, scope: 'job', reason: 'busy' } as const;
    const deferred = await unwrap(client.jobs.defer({ params: await awaiting(), body }));
    expect(deferred).toMatchObject({ status: 'pending', deferCount: 1, lastError: 'busy' });
  });

  it('lists and replays dead letters', async () => {
    const queue = await createQueue({ path: '/dead', maxAttempts: 1 });
    for (let n = 0; n < 3; n += 1) {
      const id = await publish(queue.name);
      await waitForJob(client, id, ({ status }) => status === 'dead');
    }
    const params = { id: queue.id };
    // So that the replayed job does not die again and leave another dead letter.
    await unwrap(client.queues.update({ params, body: { webhookUrl: receiver.url } }));
    const { jobs } = await unwrap(client.deadLetters.list({ params, query: { includeReplayed: false } }));
    expect(jobs).toMatchObject([{ deadAt: DATE_TIME, replayedAt: null }, {}, {}]);
    const [{ id: jobId } = { id: '' }, second] = jobs;

    expect(await client.deadLetters.replay({ params: { ...params, jobId } })).toMatchObject({ status: 201 });
    expect(await client.deadLetters.replay({ params: { ...params, jobId } })).toMatchObject({ status: 409 });
    const some = await unwrap(client.deadLetters.replayMany({ params, body: { jobIds: [jobId, second?.id ?? ''] } }));
    expect(some).toMatchObject({ replayed: 1, skipped: 1, errors: [{ id: jobId }], remaining: 1 });
    const all = await unwrap(client.deadLetters.replayMany({ params, body: { all: true } }));
    expect(all).toMatchObject({ replayed: 1, skipped: 0, remaining: 0 });
  });

  it('sends JSON source text as it is, as the payload and inside of it', async () => {
    const queue = await createQueue();
    const arrivesAs = async (payload: object) => {
      const id = await publish(queue.name, payload);
      const arrived = await receiver.waitFor((requests) => requests.some(({ raw }) => raw.includes(id)));
      return arrived.find(({ raw }) => raw.includes(id))?.raw.toString();
    };
    const text = '{ "n":9007199254740993, "n":-0, "x":1e400, "s":"\\u00e9\\ud800" }';
    expect(await arrivesAs(rawJson(text))).toContain(`"payload":${text},`);
    expect(await arrivesAs({ id: rawJson('9007199254740993') })).toContain('"payload":{"id":9007199254740993},');
    expect(() => rawJson('{"n":1},"delay":5')).toThrow(SyntaxError);
  });
});

describe('what is refused', () => {
  it('is a result, not an error', async () => {
    const bad = await client.queues.create({ body: { name: 'NO', webhookUrl: 'nowhere' } });
    if (bad.status !== 400) throw new Error(`answered ${bad.status}`);
    expectTypeOf(bad.body.error.fieldErrors).toEqualTypeOf<Record<string, string[]>>();
    expect(Object.keys(bad.body.error.fieldErrors).sort()).toEqual(['name', 'webhookUrl']);

    const stranger = createClient({ baseUrl, apiKey: 'a-key-of-no-account' });
    expect(await stranger.queues.list()).toMatchObject({ status: 401, body: { error: expect.any(String) } });
    expect(await client.jobs.get({ params: { id: UNKNOWN_ID } })).toMatchObject({ status: 404 });
    expect(await client.jobs.get({ params: { id: UNKNOWN_ID }, signal: AbortSignal.timeout(9e6) })).toMatchObject({
      status: 404,
      headers: expect.any(Headers),
    });
  });

  it('is thrown by unwrap, with what is wrong', async () => {
    const bad = await unwrap(client.queues.create({ body: { name: 'NO', webhookUrl: receiver.url } })).catch((e) => e);
    expect(bad).toBeInstanceOf(JobferryApiError);
    expect(bad).toMatchObject({
      name: 'JobferryApiError',
      status: 400,
      message: expect.stringMatching(/^queues\.create\(\): name: /),
      fieldErrors: { name: [expect.any(String)] },
    });
    const unknown = unwrap(client.jobs.get({ params: { id: UNKNOWN_ID } }));
    await expect(unknown).rejects.toMatchObject({
      status: 404,
      message: `jobs.get(${UNKNOWN_ID}): job not found`,
      call: `jobs.get(${UNKNOWN_ID})`,
      requestId: expect.any(String),
      retryAfter: null,
      fieldErrors: {},
    });
  });

  it.each(['', '.', '..'])('is the path parameter %j, which would lead to another route', async (id) => {
    await expect(client.queues.get({ params: { id } })).rejects.toThrow(TypeError);
  });

  it('is a name that Jobferry would ignore, except in production', async () => {
    const queue = await unwrap(client.queues.create({ body: { name: 'strict', webhookUrl: receiver.url } }));
    const misspelt = { payload: {}, scheduledFor: '2030-01-01T00:00:00Z' };
    const publish = () => client.jobs.publish({ params: { queueName: queue.name }, body: misspelt });
    await expect(publish()).rejects.toThrow(/^POST .* would ignore scheduledFor \(did you mean delay\?\)$/);
    await unwrap(client.queues.update({ params: { id: queue.id }, body: queue }));
    vi.stubEnv('NODE_ENV', 'production');
    expect(await publish().finally(() => vi.unstubAllEnvs())).toMatchObject({ status: 201 });
  });

  it('is a payload that JSON writes without a part of it, except in production', async () => {
    const queue = await unwrap(client.queues.create({ body: { name: 'whole', webhookUrl: receiver.url } }));
    const publish = (payload: object) => client.jobs.publish({ params: { queueName: queue.name }, body: { payload } });
    const items = [new Map([['sku', 1]])];
    await expect(publish({ order: { items } })).rejects.toThrow('0 in the payload is a Map, which JSON writes as {}');
    await expect(publish(Promise.resolve({}))).rejects.toThrow('the payload is a Promise, which JSON writes as {}');
    const many = client.jobs.publishMany(queue.name, [{ payload: {} }, { payload: { tags: new Set() } }]);
    await expect(many).rejects.toThrow('tags in the payload is a Set, which JSON writes as {}');
    await expect(publish({ n: 1n })).rejects.toThrow(TypeError);
    const written = { toJSON: () => ({ n: 1 }) };
    expect(await publish({ at: new Date(), written, raw: rawJson('{"n":1e400}') })).toMatchObject({ status: 201 });
    const shared = { n: 1 };
    expect(await publish({ first: shared, second: shared, many: Array(200_000).fill(0) })).toMatchObject({
      status: 201,
    });
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    await expect(publish(cyclic)).rejects.toThrow(TypeError);
    vi.stubEnv('NODE_ENV', 'production');
    expect(await publish({ order: { items } }).finally(() => vi.unstubAllEnvs())).toMatchObject({ status: 201 });
  });

  it('is another payload for an idempotency key, if the client is told to', async () => {
    const queue = await unwrap(client.queues.create({ body: { name: 'keyed', webhookUrl: receiver.url } }));
    const strict = createClient({ baseUrl, apiKey, throwIfPayloadDiffers: true });
    const publish = (by: JobferryClient, n: number) =>
      by.jobs.publish({ params: { queueName: queue.name }, body: { payload: { n }, idempotencyKey: 'k' } });
    await unwrap(publish(client, 1));
    expect(await publish(strict, 1)).toMatchObject({ status: 200 });
    expect(await publish(client, 2)).toMatchObject({ status: 200 });
    await expect(publish(strict, 2)).rejects.toMatchObject({ name: 'JobferryApiError', status: 200 });
  });

  it('is a call without its path parameter, and a base URL with the version', async () => {
    // @ts-expect-error: who writes no types can call it so.
    await expect(client.jobs.publish()).rejects.toThrow(new TypeError('params.queueName is missing'));
    expect(() => createClient({ baseUrl: `${baseUrl}/v1/`, apiKey })).toThrow(TypeError);
  });

  it('is a path in a path parameter', async () => {
    expect(await client.queues.get({ params: { id: '../queues' } })).toMatchObject({ status: 404 });
    expect(await client.jobs.get({ params: { id: 'a?b#c' } })).toMatchObject({ status: 404 });
  });

  it('is an answer of something that is not Jobferry', async () => {
    const website = await openReceiver({ body: '<html>', headers: { 'content-type': 'text/html' } });
    const lost = createClient({ baseUrl: website.url, apiKey, retries: 0 });
    await expect(lost.queues.list()).rejects.toThrow(JobferryConnectionError);
    website.respondWith({ status: 404, body: 'nothing here' });
    expect(await lost.queues.list()).toMatchObject({ status: 404, body: 'nothing here' });
    await expect(unwrap(lost.queues.list())).rejects.toMatchObject({
      status: 404,
      message: 'queues.list(): answered 404',
      requestId: null,
    });
    website.respondWith({ status: 302, headers: { location: '/elsewhere' } });
    expect(await lost.queues.list()).toMatchObject({ status: 302 });
    expect(website.requests.map(({ path }) => path)).not.toContain('/elsewhere');
  });

  it.each([
    ['baseUrl', { baseUrl: 'localhost:8080', apiKey }],
    ['apiKey', { baseUrl: 'http://127.0.0.1:1', apiKey: '' }],
  ])('is a wrong %s', (name, options) => {
    expect(() => createClient(options)).toThrow(name);
  });
});
