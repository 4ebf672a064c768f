import { describe, expect, it } from 'vitest';
import { ERROR_KINDS, JobferryError, unavailable } from '../../src/domain/errors.ts';
import type { GraphQLEndpoint } from '../../src/http/index.ts';
import { testApi } from '../support/fake-api.ts';
import { createdQueue, ID } from '../support/fake-services.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const STATUS = {
  invalid_fields: 400,
  invalid_request: 400,
  unauthorized: 401,
  limit_reached: 402,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  unavailable: 503,
};

describe('refusals of the services', () => {
  it.each(ERROR_KINDS)('%s has its status, and its message as the error', async (kind) => {
    const error =
      kind === 'unavailable'
        ? unavailable('the reason', 'unknown')
        : new JobferryError(kind, 'the reason', { fields: { a: ['b'] } });
    const ackJob = () => Promise.reject(error);
    const api = await testApi({ services: { jobs: { ack: ackJob } } });
    const answer = await api.send('POST', `/v1/jobs/${ID}/ack`);
    expect(answer).toMatchObject({ status: STATUS[kind], json: { error: 'the reason' } });
    expect(answer.headers['retry-after']).toBe(kind === 'unavailable' ? '1' : undefined);
    expect(answer.headers['www-authenticate']).toBe(kind === 'unauthorized' ? 'Bearer' : undefined);
    expect(api.logged).toEqual([]);
  });

  it.each([
    [
      'fields',
      new JobferryError('invalid_fields', 'm', { fields: { name: ['is taken'] } }),
      { formErrors: [], fieldErrors: { name: ['is taken'] } },
    ],
    ['a message', new JobferryError('invalid_request', 'm'), { formErrors: ['m'], fieldErrors: {} }],
  ])('a refusal of a create with 400 has the shape of a body validation: %s', async (_name, error, shown) => {
    const api = await testApi({ services: { queues: { create: () => Promise.reject(error) } } });
    const body = '{"name":"mails","webhookUrl":"http://127.0.0.1/"}';
    expect(await api.send('POST', '/v1/queues', { body })).toMatchObject({ status: 400, json: { error: shown } });
  });
});

describe('our own mistakes', () => {
  it('answer 500 without a word of why, and are logged', async () => {
    const error = new Error('select secret from vault');
    const api = await testApi({ services: { jobs: { get: () => Promise.reject(error) } } });
    const answer = await api.send('GET', `/v1/jobs/${ID}`);
    expect(answer).toMatchObject({ status: 500, json: { error: 'internal error' } });
    const requestId = answer.headers['x-request-id'];
    expect(api.logged).toEqual([
      { fields: { err: error, method: 'GET', url: `/v1/jobs/${ID}`, requestId }, message: 'request failed' },
    ]);
  });

  it('are logged without the right that a report URL is', async () => {
    const reportUrls = { rightOf: () => Promise.reject(new Error('broken')) };
    const api = await testApi({ services: { reportUrls } });
    expect((await api.send('GET', '/report/secret.1')).status).toBe(500);
    expect(api.logged).toMatchObject([{ fields: { url: '/report/…' } }]);
  });

  it('include an answer that breaks the contract', async () => {
    const api = await testApi({ services: { queues: { get: async () => ({ ...createdQueue, id: 'no id' }) } } });
    expect(await api.send('GET', `/v1/queues/${ID}`)).toMatchObject({ status: 500, json: { error: 'internal error' } });
    expect(api.logged.length).toBe(1);
  });
});

describe('ids', () => {
  const malformed = [
    'x',
    'a'.repeat(23),
    'a'.repeat(25),
    'A'.repeat(24),
    '%00',
    '..%2f',
    '%7B%22$gt%22:%22%22%7D',
    `${ID}%0a`,
  ];
  it.each<[method: string, path: (id: string) => string, what: string]>([
    ['GET', (id) => `/v1/queues/${id}`, 'queue'],
    ['PUT', (id) => `/v1/queues/${id}`, 'queue'],
    ['DELETE', (id) => `/v1/queues/${id}`, 'queue'],
    ['GET', (id) => `/v1/queues/${id}/jobs`, 'queue'],
    ['GET', (id) => `/v1/queues/${id}/dlq`, 'queue'],
    ['POST', (id) => `/v1/queues/${id}/dlq/replay`, 'queue'],
    ['POST', (id) => `/v1/queues/${id}/dlq/${ID}/replay`, 'queue'],
    ['POST', (id) => `/v1/queues/${ID}/dlq/${id}/replay`, 'dead letter'],
    ['GET', (id) => `/v1/jobs/${id}`, 'job'],
    ['POST', (id) => `/v1/jobs/${id}/ack`, 'job'],
    ['POST', (id) => `/v1/jobs/${id}/nack`, 'job'],
    ['POST', (id) => `/v1/jobs/${id}/defer`, 'job'],
  ])('H86 that are malformed are unknown: %s %s', async (method, path, what) => {
    const api = await testApi();
    const error = `${what} not found`;
    const sent = method === 'GET' || method === 'DELETE' ? {} : { body: '{"all":true,"retryAfter":1}' };
    for (const id of malformed) {
      expect(await api.send(method, path(id), sent)).toMatchObject({ status: 404, json: { error } });
    }
    expect(new Set(api.calls.map((call) => call.method))).toEqual(new Set(['accounts.authenticate']));
  });

  it.each([`/v1/jobs/%zz`, '/v1/queues/%zz/jobs', '/v1/queues/%ff'])(
    'H87 that cannot be decoded are 400: %s',
    async (path) => {
      const api = await testApi();
      const answer = await api.send(path.endsWith('/jobs') ? 'POST' : 'GET', path);
      expect(answer).toMatchObject({ status: 400, json: { error: expect.any(String) } });
      expect(answer.headers['content-type']).toBe(JSON_TYPE);
      expect(api.logged).toEqual([]);
    },
  );
});

describe('every answer', () => {
  it.each([
    ['POST', '/', ''],
    ['GET', '/v1', ''],
    ['GET', '/V1/queues', ''],
    ['GET', '/v1/nothing', ''],
    ['PATCH', `/v1/queues/${ID}`, ': this path has GET and PUT and DELETE, not PATCH'],
    ['DELETE', `/v1/jobs/${ID}`, ': this path has GET, not DELETE'],
    ['PUT', '/v1/queues/hello/jobs', ': this path has POST and GET, not PUT'],
    ['OPTIONS', '/v1/queues', ': this path has GET and POST, not OPTIONS'],
    ['TRACE', '/v1/queues', ': this path has GET and POST, not TRACE'],
    ['POST', '/queues/hello/jobs', ': the paths of the API begin with /v1'],
    ['GET', '/favicon.ico', ''],
    ['GET', '//v1/queues', ''],
  ])('is JSON, that to an unknown path too: %s %s', async (method, path, hint) => {
    const api = await testApi();
    const answer = await api.send(method, path);
    expect(answer).toMatchObject({ status: 404, json: { error: `not found${hint}` } });
    expect(answer.headers['content-type']).toBe(JSON_TYPE);
  });

  it.each([
    ['GET', '/v1/queues', 200],
    ['DELETE', `/v1/queues/${ID}`, 204],
    ['GET', '/nothing', 404],
    ['GET', '/healthz', 200],
  ])('forbids caching and sniffing, and does not name the server software: %s %s', async (method, path, status) => {
    const api = await testApi();
    const { status: got, headers } = await api.send(method, path);
    expect(got).toBe(status);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('etag');
  });
});

describe('health', () => {
  it.each([
    [true, 200, 'ready'],
    [false, 503, 'not ready'],
  ])('reports whether it is ready: %s', async (ready, status, text) => {
    const checks = { database: ready ? 'ok' : 'no answer' };
    const api = await testApi({ readiness: async () => ({ ready, checks }) });
    const sent = { headers: { authorization: undefined } };
    expect(await api.send('GET', '/readyz', sent)).toMatchObject({ status, json: { status: text, checks } });
    expect(await api.send('GET', '/healthz', sent)).toMatchObject({ status: 200, json: { status: 'ok' } });
  });
});

describe('GraphQL', () => {
  it('gets an authenticated JSON object, and nothing else', async () => {
    const bodies: object[] = [];
    const graphql: GraphQLEndpoint = {
      execute: async (_req, res, body, { client }) => {
        bodies.push(body);
        res.end(JSON.stringify(client.account.name));
      },
      page: null,
    };
    const api = await testApi({ graphql });
    expect((await api.send('POST', '/graphql', { body: '{"query":"{a}"}' })).json).toBe('test');
    for (const body of ['[]', '[{"query":"{a}"}]', 'null', '7', '{']) {
      expect(await api.send('POST', '/graphql', { body })).toMatchObject({ status: 400 });
    }
    expect(await api.send('POST', '/graphql', { headers: { authorization: undefined } })).toMatchObject({
      status: 401,
    });
    expect(await api.send('GET', '/graphql')).toMatchObject({ status: 405 });
    expect(bodies).toEqual([{ query: '{a}' }]);
  });
});
