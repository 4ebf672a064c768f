import { describe, expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { openReceiver, startService } from '../support/service.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/**
 * Every mutation that REST also has, driven both ways: the same refusals for the same reasons, and the
 * same state afterwards.
 */

const KEY = 'key-of-the-bootstrap-account';
const { api, jobferry } = await startService({ BOOTSTRAP_API_KEY: KEY });
const graphql = createGraphQLClient(jobferry.baseUrl, KEY);
const receiver = await openReceiver();

/** The result of a call, by REST or by GraphQL. */
interface Result {
  /** REST's status of a refusal, or 2xx. */
  status: number;
  /** Fields that were refused. */
  fields: string[];
}

const STATUS_OF_TYPE: Record<string, number> = {
  ValidationError: 400,
  InvalidRequestError: 400,
  LimitReachedError: 402,
  ForbiddenError: 403,
  NotFoundError: 404,
  ConflictError: 409,
  GoneError: 410,
};

async function rest(method: string, path: string, body?: object): Promise<Result> {
  const { status, body: answer } = await api.call<{ error?: { fieldErrors?: object } } | undefined>(method, path, body);
  const fields = Object.keys(answer?.error?.fieldErrors ?? {}).sort();
  return { status: status < 300 ? 200 : status, fields };
}

async function mutate(field: string, args: Record<string, [type: string, value: unknown]>): Promise<Result> {
  const names = Object.keys(args);
  const heads = names.map((name) => `$${name}: ${args[name]?.[0]}`).join(', ');
  const passed = names.map((name) => `${name}: $${name}`).join(', ');
  const document = `mutation M(${heads}) {
    result: ${field}(${passed}) { __typename ... on Error { ... on ValidationError { fieldErrors { field } } } }
  }`;
  const variables = Object.fromEntries(names.map((name) => [name, args[name]?.[1]]));
  const { result } = await graphql.query(document, variables);
  const fields = (result.fieldErrors ?? []).map((error: { field: string }) => error.field).sort();
  return { status: STATUS_OF_TYPE[result.__typename] ?? 200, fields };
}

let made = 0;
async function newQueue(settings: object = {}): Promise<{ id: string; name: string }> {
  made += 1;
  return api.createQueue({ name: `queue-${made}`, webhookUrl: receiver.url, ...settings });
}

const url = 'http://127.0.0.1:9/';
const ok = (): Result => ({ status: 200, fields: [] });
const bad = (...fields: string[]): Result => ({ status: 400, fields });
const refused = (status: number): Result => ({ status, fields: [] });

describe('create', () => {
  const CASES: [name: string, body: object, expected: Result][] = [
    ['the least', { name: 'least', webhookUrl: url }, ok()],
    [
      'every setting',
      {
        name: 'all',
        webhookUrl: url,
        maxAttempts: 25,
        maxDefers: 0,
        concurrency: 1,
        dlqEnabled: false,
        rateLimitMax: 1,
        rateLimitWindow: 0.001,
        ackTimeout: 86400,
        backoffDelay: 0,
      },
      ok(),
    ],
    ['no rate limit', { name: 'no-limit', webhookUrl: url, rateLimitMax: null }, ok()],
    ['a template', { name: 'template', webhookUrl: url, template: 'anthropic' }, ok()],
    ['an unknown template', { name: 'no-template', webhookUrl: url, template: 'unknown' }, bad('template')],
    ['a bad name', { name: 'A b', webhookUrl: url }, bad('name')],
    ['an empty name', { name: '', webhookUrl: url }, bad('name')],
    ['a name of 65 characters', { name: 'x'.repeat(65), webhookUrl: url }, bad('name')],
    ['a bad address', { name: 'bad-address', webhookUrl: 'ftp://x/' }, bad('webhookUrl')],
    [
      'numbers out of bounds',
      {
        name: 'bounds',
        webhookUrl: url,
        maxAttempts: 0,
        maxDefers: 1001,
        concurrency: 501,
        rateLimitMax: 0,
        rateLimitWindow: 0,
        ackTimeout: 0,
        backoffDelay: -1,
      },
      bad('ackTimeout', 'backoffDelay', 'concurrency', 'maxAttempts', 'maxDefers', 'rateLimitMax', 'rateLimitWindow'),
    ],
  ];
  it.each(CASES)('%s', async (_name, body, expected) => {
    expect(await rest('POST', '/v1/queues', { ...body, name: nameFor('r', body) })).toEqual(expected);
    expect(
      await mutate('createQueue', { input: ['CreateQueueInput!', { ...body, name: nameFor('g', body) }] }),
    ).toEqual(expected);
  });

  it('a name that is in use', async () => {
    const { name } = await newQueue();
    expect(await rest('POST', '/v1/queues', { name, webhookUrl: url })).toEqual(bad('name'));
    expect(await mutate('createQueue', { input: ['CreateQueueInput!', { name, webhookUrl: url }] })).toEqual(
      bad('name'),
    );
  });

  it('more concurrency than an account may have', async () => {
    const big = [await newQueue({ concurrency: 450 }), await newQueue({ concurrency: 450 })];
    const body = { webhookUrl: url, concurrency: 300 };
    expect(await rest('POST', '/v1/queues', { ...body, name: 'r-too-much' })).toEqual(refused(403));
    expect(await mutate('createQueue', { input: ['CreateQueueInput!', { ...body, name: 'g-too-much' }] })).toEqual(
      refused(403),
    );
    for (const { id } of big) await api.call('DELETE', `/v1/queues/${id}`);
  });
});

/** Each way needs a queue of its own; a name that is not valid stays as it is. */
function nameFor(way: string, body: object): string {
  const { name } = body as { name: string };
  return /^[a-z-]{1,40}$/.test(name) ? `${way}-${name}` : name;
}

describe('update', () => {
  const CASES: [name: string, body: object, expected: Result][] = [
    ['nothing', {}, ok()],
    ['some settings', { maxAttempts: 2, rateLimitMax: 5 }, ok()],
    ['the rate limit taken away', { rateLimitMax: null }, ok()],
    ['a bad address', { webhookUrl: 'nowhere' }, bad('webhookUrl')],
    ['numbers out of bounds', { maxAttempts: 26, ackTimeout: 86401 }, bad('ackTimeout', 'maxAttempts')],
  ];
  it.each(CASES)('%s', async (_name, body, expected) => {
    const [one, other] = [await newQueue({ rateLimitMax: 9 }), await newQueue({ rateLimitMax: 9 })];
    expect(await rest('PUT', `/v1/queues/${one.id}`, body)).toEqual(expected);
    expect(await mutate('updateQueue', { id: ['ID!', other.id], input: ['UpdateQueueInput!', body] })).toEqual(
      expected,
    );
    const [after, likewise] = await Promise.all([settingsOf(one.id), settingsOf(other.id)]);
    expect(likewise).toEqual(after);
  });
  it.each([UNKNOWN_ID, 'no-id', ''])('an unknown queue: %j', async (id) => {
    if (id !== '') expect(await rest('PUT', `/v1/queues/${id}`, {})).toEqual(refused(404));
    expect(await mutate('updateQueue', { id: ['ID!', id], input: ['UpdateQueueInput!', {}] })).toEqual(refused(404));
  });
});

async function settingsOf(id: string): Promise<object> {
  const {
    id: _id,
    name: _name,
    createdAt: _at,
    ...settings
  } = (await api.call<Record<string, unknown>>('GET', `/v1/queues/${id}`)).body;
  return settings;
}

describe('delete', () => {
  it('a queue, and the same again', async () => {
    const [one, other] = [await newQueue(), await newQueue()];
    expect(await rest('DELETE', `/v1/queues/${one.id}`)).toEqual(ok());
    expect(await rest('DELETE', `/v1/queues/${one.id}`)).toEqual(refused(404));
    expect(await mutate('deleteQueue', { id: ['ID!', other.id] })).toEqual(ok());
    expect(await mutate('deleteQueue', { id: ['ID!', other.id] })).toEqual(refused(404));
  });
});

describe('publish', () => {
  const CASES: [name: string, body: Record<string, unknown>, expected: Result][] = [
    ['a payload', { payload: { a: 1 } }, ok()],
    ['an empty payload', { payload: {} }, ok()],
    ['a delay', { payload: {}, delay: 0.5 }, ok()],
    ['the longest delay', { payload: {}, delay: 86400 }, ok()],
    ['a delay that is too long', { payload: {}, delay: 86400.1 }, bad('delay')],
    ['a delay into the past', { payload: {}, delay: -1 }, bad('delay')],
    ['the longest key', { payload: {}, idempotencyKey: 'k'.repeat(255) }, ok()],
    ['a key that is too long', { payload: {}, idempotencyKey: 'k'.repeat(256) }, bad('idempotencyKey')],
    ['an empty key', { payload: {}, idempotencyKey: '' }, bad('idempotencyKey')],
    ['NUL in a key', { payload: {}, idempotencyKey: 'a\0' }, bad('idempotencyKey')],
    ['no payload', {}, bad('payload')],
  ];
  it.each(CASES)('%s', async (_name, body, expected) => {
    const [one, other] = [await newQueue(), await newQueue()];
    expect(await rest('POST', `/v1/queues/${one.name}/jobs`, body)).toEqual(expected);
    expect(await mutate('publishJob', { queue: ['String!', other.name], input: ['PublishInput!', body] })).toEqual(
      expected,
    );
  });

  it.each(['[]', '7', 'null', '"text"', '{', '', '{"a":1}x'])(
    'a payload text that is no object: %j',
    async (payloadText) => {
      const { name } = await newQueue();
      const result = await mutate('publishJob', {
        queue: ['String!', name],
        input: ['PublishInput!', { payloadText }],
      });
      expect(result.status).toBe(400);
    },
  );

  it('a payload byte for byte', async () => {
    const { name } = await newQueue();
    const payloadText = '{"n": 9007199254740993, "n": 1e400, "t": "\\u0000\\ud800", "z": -0}';
    const answer = await graphql.query(
      `mutation M($queue: String!, $text: String!) {
        publishJob(queue: $queue, input: { payloadText: $text }) { ... on PublishJobPayload { job { id payloadText } } }
      }`,
      { queue: name, text: payloadText },
    );
    const { id, payloadText: kept } = answer.publishJob.job;
    expect(kept).toBe(payloadText);
    await receiver.waitFor((requests) => requests.some(({ raw }) => raw.includes(id)));
    const delivered = receiver.requests.find(({ raw }) => raw.includes(id))?.raw.toString('utf8');
    expect(delivered).toContain(payloadText);
  });

  it('REST and GraphQL refuse a publish to an unknown queue', async () => {
    expect(await rest('POST', '/v1/queues/nowhere/jobs', { payload: {} })).toEqual(refused(404));
    const input = { payload: {} };
    for (const queue of ['nowhere', 'NO', '\0', '']) {
      expect(await mutate('publishJob', { queue: ['String!', queue], input: ['PublishInput!', input] })).toEqual(
        refused(404),
      );
    }
  });

  it('the same key twice, once each way', async () => {
    const { name } = await newQueue();
    const { body } = await api.call<{ id: string }>('POST', `/v1/queues/${name}/jobs`, {
      payload: {},
      idempotencyKey: 'k',
    });
    const { publishJob } = await graphql.query(
      `mutation M($queue: String!) {
        publishJob(queue: $queue, input: { payload: {}, idempotencyKey: "k" }) {
          ... on PublishJobPayload { created job { id } }
        }
      }`,
      { queue: name },
    );
    expect(publishJob).toEqual({ created: false, job: { id: body.id } });
  });
});

describe('reports', () => {
  const REPORTS: [
    name: string,
    path: string,
    body: object | undefined,
    field: string,
    args: Record<string, [string, unknown]>,
  ][] = [
    ['ack', 'ack', undefined, 'ackJob', {}],
    ['nack', 'nack', {}, 'nackJob', {}],
    [
      'nack for good',
      'nack',
      { retryable: false, reason: 'r' },
      'nackJob',
      { retryable: ['Boolean!', false], reason: ['String', 'r'] },
    ],
    [
      'defer',
      'defer',
      { retryAfter: 5, scope: 'job', reason: 'r' },
      'deferJob',
      { retryAfter: ['Float!', 5], scope: ['DeferScope!', 'JOB'], reason: ['String', 'r'] },
    ],
  ];

  async function awaiting(): Promise<string> {
    const queue = await newQueue({ mode: 'ack', concurrency: 1 });
    const { body } = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} });
    await api.waitForJob(body.id, (job) => job.status === 'awaiting_ack');
    return body.id;
  }

  it.each(REPORTS)('%s', async (_name, path, body, field, args) => {
    const [one, other] = [await awaiting(), await awaiting()];
    expect(await rest('POST', `/v1/jobs/${one}/${path}`, body)).toEqual(ok());
    expect(await mutate(field, { id: ['ID!', other], ...args })).toEqual(ok());
    const [first, second] = [await historyOf(one), await historyOf(other)];
    expect(second).toEqual(first);
    expect(await rest('POST', `/v1/jobs/${one}/${path}`, body)).toEqual(refused(400));
    expect(await mutate(field, { id: ['ID!', other], ...args })).toEqual(refused(400));
  });

  it.each(REPORTS)('%s of an unknown job', async (_name, path, body, field, args) => {
    expect(await rest('POST', `/v1/jobs/${UNKNOWN_ID}/${path}`, body)).toEqual(refused(404));
    expect(await mutate(field, { id: ['ID!', UNKNOWN_ID], ...args })).toEqual(refused(404));
    expect(await mutate(field, { id: ['ID!', '\0'], ...args })).toEqual(refused(404));
  });

  it.each([
    ['nack', { reason: 'x'.repeat(1001) }, 'nackJob', { reason: ['String', 'x'.repeat(1001)] }],
    ['defer', { retryAfter: -1 }, 'deferJob', { retryAfter: ['Float!', -1] }],
    ['defer', { retryAfter: 1, reason: '\0' }, 'deferJob', { retryAfter: ['Float!', 1], reason: ['String', '\0'] }],
  ] as [string, object, string, Record<string, [string, unknown]>][])('%s with %j', async (path, body, field, args) => {
    const id = await awaiting();
    expect((await rest('POST', `/v1/jobs/${id}/${path}`, body)).status).toBe(400);
    expect((await mutate(field, { id: ['ID!', id], ...args })).status).toBe(400);
  });

  /** Without what differs between two jobs by nature. */
  async function historyOf(id: string) {
    const { history, status, attempts, deferCount, lastError } = await api.getJob(id);
    return { status, attempts, deferCount, lastError, history: history.map(({ timestamp: _, ...entry }) => entry) };
  }
});

describe('replay', () => {
  async function deadLetter(): Promise<{ queueId: string; id: string }> {
    const failing = await openReceiver({ status: 500 });
    const queue = await newQueue({ webhookUrl: failing.url, maxAttempts: 1 });
    const { body } = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} });
    await api.waitForJob(body.id, (job) => job.status === 'dead');
    const letters = await api.call<{ jobs: { id: string }[] }>('GET', `/v1/queues/${queue.id}/dlq`);
    return { queueId: queue.id, id: letters.body.jobs[0]?.id ?? '' };
  }

  it('REST and GraphQL replay a dead letter once, and not twice', async () => {
    const [one, other] = [await deadLetter(), await deadLetter()];
    const path = `/v1/queues/${one.queueId}/dlq/${one.id}/replay`;
    expect(await rest('POST', path)).toEqual(ok());
    expect(await rest('POST', path)).toEqual(refused(409));
    expect(await mutate('replayDeadLetter', { id: ['ID!', other.id] })).toEqual(ok());
    expect(await mutate('replayDeadLetter', { id: ['ID!', other.id] })).toEqual(refused(409));
  });

  it.each([UNKNOWN_ID, 'no-id', '\0'])('REST and GraphQL refuse to replay an unknown dead letter: %j', async (id) => {
    const { queueId } = await deadLetter();
    expect(await rest('POST', `/v1/queues/${queueId}/dlq/${encodeURIComponent(id)}/replay`)).toEqual(refused(404));
    expect(await mutate('replayDeadLetter', { id: ['ID!', id] })).toEqual(refused(404));
  });
});
