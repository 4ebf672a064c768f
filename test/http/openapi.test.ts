import { type AppRoute, isAppRoute } from '@ts-rest/core';
import { describe, expect, it } from 'vitest';
import { contract } from '../../src/contract/index.ts';
import { buildEnvelope } from '../../src/delivery/envelope.ts';
import { sign } from '../../src/delivery/signature.ts';
import { openApiDocument } from '../../src/http/pages/openapi/index.ts';
import { testApi } from '../support/fake-api.ts';
import { ID } from '../support/fake-services.ts';
import {
  assertDocumented,
  compileClosed,
  describeError,
  document,
  foundContradictions,
  type Operation,
  resolve,
} from '../support/openapi.ts';

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);
const delivery = document.webhooks.delivery?.post as Operation;
const routes = Object.entries(contract).flatMap(([router, members]) =>
  Object.entries(members as Record<string, AppRoute>)
    .filter(([, route]) => isAppRoute(route))
    .map(([name, route]): [string, AppRoute] => [`${router}.${name}`, route]),
);

/** Every object of the document with the path to it. */
function* walk(node: unknown, at = '#'): Generator<[at: string, node: Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) yield [at, node as Record<string, unknown>];
  for (const [key, value] of Object.entries(node)) yield* walk(value, `${at}/${key}`);
}

function check(schema: object, value: unknown): string[] {
  const validate = compileClosed(schema);
  return validate(value) ? [] : (validate.errors ?? []).map(describeError);
}

describe('the document', () => {
  it('is what /openapi.json answers, without a key', async () => {
    const api = await testApi({ config: { templates: { anthropic: {}, openai: {} } } });
    const answer = await api.send('GET', '/openapi.json', { headers: { authorization: undefined } });
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
    expect(answer.json).toEqual(JSON.parse(JSON.stringify(document)));
    expect(answer.json).toMatchObject({ openapi: '3.1.0', info: { title: 'Jobferry', version: '0.0.1' } });
    expect(api.calls).toEqual([]);
  });

  it('has references that all lead somewhere, and nothing left of an older dialect', () => {
    const wrong = [...walk(document)].filter(
      ([, node]) => ('$ref' in node && resolve(node) === undefined) || 'nullable' in node || 'mediaExamples' in node,
    );
    expect(wrong).toEqual([]);
  });

  it('shows the signing secret where a queue is created and nowhere else', () => {
    const places = [...walk(document)].filter(([, node]) => 'signingSecret' in node).map(([at]) => at);
    expect(places).toEqual([
      '#/paths//v1/queues/post/responses/201/content/application/json/example',
      '#/components/schemas/CreatedQueue/properties',
    ]);
    const users = [...walk(document)].filter(([, { $ref }]) => $ref === '#/components/schemas/CreatedQueue');
    expect(users.map(([at]) => at)).toEqual(['#/paths//v1/queues/post/responses/201/content/application/json/schema']);
  });

  it('describes every field and every parameter', () => {
    const silent = [...walk(document.components.schemas)].flatMap(([at, { properties }]) =>
      Object.entries((properties ?? {}) as Record<string, object>)
        .filter(([name, field]) => name !== 'error' && !('description' in field) && !('$ref' in field))
        .map(([name]) => `${at}/${name}`),
    );
    expect(silent).toEqual([]);
    const parameters = operations.flatMap(({ operation }) => operation.parameters);
    expect(parameters.filter((parameter) => !('description' in parameter))).toEqual([]);
  });

  it('has the configured values', () => {
    const other = openApiDocument({ signatureHeader: 'x-my-signature', templates: { mine: {} } });
    expect(other).toMatchObject({
      components: { schemas: { QueueCreate: { properties: { template: { type: 'string', enum: ['mine'] } } } } },
      webhooks: { delivery: { post: { parameters: [{ name: 'x-my-signature' }, { name: 'x-my-signature-next' }] } } },
    });
  });
});

describe('the operations', () => {
  it('are the routes of the contract', () => {
    const shape = (path: string) => path.replace(/:\w+|\{\w+\}/g, '{}');
    const documented = operations.map(({ path, method, operation }) => [operation.operationId, method, shape(path)]);
    const contracted = routes.map(([id, route]) => [id, route.method.toLowerCase(), shape(route.path)]);
    expect(documented.sort()).toEqual(contracted.sort());
    expect(contracted).toHaveLength(14);
  });

  it.each(operations)('require the key: $method $path', ({ operation }) => {
    expect(operation.security).toEqual([{ apiKey: [] }]);
    expect(operation.responses['401']?.headers).toHaveProperty('WWW-Authenticate');
    expect(operation.responses['503']?.headers).toHaveProperty('Retry-After');
    expect(operation.responses['429']?.headers).toHaveProperty('Retry-After');
  });

  const every = ['401', '403', '429', '500', '503'];
  const body = ['413', '415'];
  it.each<[id: string, statuses: string[], shapeOf400: string]>([
    ['queues.list', ['200', '400', ...every], 'ErrorMessage'],
    ['queues.create', ['201', '400', ...body, ...every], 'ErrorFields'],
    ['queues.get', ['200', '400', '404', ...every], 'ErrorMessage'],
    ['queues.update', ['200', '400', '404', ...body, ...every], 'ErrorFields'],
    ['queues.delete', ['204', '400', '404', ...every], 'ErrorMessage'],
    ['jobs.publish', ['200', '201', '400', '402', '404', ...body, ...every], 'ErrorFields'],
    ['jobs.list', ['200', '400', '404', ...every], 'ErrorMessage'],
    ['jobs.get', ['200', '400', '404', ...every], 'ErrorMessage'],
    ['jobs.ack', ['200', '400', '404', '413', ...every], 'ErrorMessage'],
    ['jobs.nack', ['200', '400', '404', ...body, ...every], 'ErrorMessage'],
    ['jobs.defer', ['200', '400', '404', ...body, ...every], 'ErrorMessage'],
    ['deadLetters.list', ['200', '400', '404', '410', ...every], 'ErrorMessage'],
    ['deadLetters.replay', ['201', '400', '402', '404', '409', '410', '413', ...every], 'ErrorMessage'],
    ['deadLetters.replayMany', ['200', '400', '402', '404', '410', ...body, ...every], 'ErrorMessage'],
  ])('answer what the spec says: %s', (id, statuses, shapeOf400) => {
    const responses = operations.find(({ operation }) => operation.operationId === id)?.operation.responses ?? {};
    expect(Object.keys(responses).sort()).toEqual(statuses.sort());
    const shapes = Object.entries(responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, { content }]) => [status, content?.['application/json']?.schema]);
    for (const [status, schema] of shapes) {
      expect(schema).toEqual({ $ref: `#/components/schemas/${status === '400' ? shapeOf400 : 'ErrorMessage'}` });
    }
  });

  it('have the bounds and defaults of the spec', () => {
    const fields = (name: string) => (document.components.schemas[name] as { properties: object }).properties;
    expect(fields('QueueCreate')).toMatchObject({
      name: { maxLength: 64, pattern: '^[a-z0-9-_]+$' },
      webhookUrl: { type: 'string', format: 'uri' },
      maxAttempts: { type: 'integer', default: 3, minimum: 1, maximum: 25 },
      maxDefers: { type: 'integer', default: 50, minimum: 0, maximum: 1000 },
      concurrency: { type: 'integer', default: 5, minimum: 1, maximum: 500 },
      dlqEnabled: { type: 'boolean', default: true },
      mode: { default: 'standard', enum: ['standard', 'ack'] },
      rateLimitMax: { type: ['integer', 'null'], default: null, minimum: 1 },
      rateLimitWindow: { type: 'number', default: 60, minimum: 0.001, maximum: 3600 },
      ackTimeout: { type: 'number', default: 300, minimum: 0.001, maximum: 86_400 },
      ackTimeoutAction: { default: 'retry', enum: ['retry', 'dead'] },
      backoffType: { default: 'exponential', enum: ['fixed', 'exponential'] },
      backoffDelay: { type: 'number', default: 2, minimum: 0, maximum: 3600 },
      template: { enum: ['anthropic', 'openai'] },
    });
    // Members that a change leaves out stay as they are, so they have no defaults.
    expect([...walk(fields('QueueUpdate'))].filter(([, node]) => 'default' in node)).toEqual([]);
    expect(fields('Publish')).toMatchObject({
      payload: { type: 'object' },
      idempotencyKey: { maxLength: 255 },
      delay: { type: 'number', minimum: 0, maximum: 86_400 },
    });
    const list = operations.find(({ operation }) => operation.operationId === 'jobs.list')?.operation.parameters;
    expect(list).toMatchObject([
      { name: 'queue', in: 'path', schema: { pattern: '^[0-9a-f]{24}$' } },
      { name: 'page', schema: { type: 'integer', default: 1, minimum: 1 } },
      { name: 'limit', schema: { type: 'integer', default: 25, minimum: 1, maximum: 100 } },
      { name: 'from', schema: { type: 'string', format: 'date-time' } },
      { name: 'to', schema: { type: 'string', format: 'date-time' } },
      { name: 'status', schema: { enum: ['pending', 'processing', 'awaiting_ack', 'completed', 'dead'] } },
      { name: 'idempotencyKey', schema: { type: 'string' } },
    ]);
  });

  it.each([...operations.map(({ operation }) => operation), delivery])(
    'have examples that are right: $operationId',
    ({ requestBody, responses }) => {
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)];
      for (const media of contents.flatMap((content) => Object.values(content ?? {}))) {
        const values = [...Object.values(media.examples ?? {}).map(({ value }) => value), media.example];
        const given = values.filter((value) => value !== undefined);
        expect(given.length).toBeGreaterThan(0);
        for (const value of given) expect(check(media.schema, value)).toEqual([]);
      }
    },
  );
});

describe('the webhook', () => {
  it('is documented as it is sent', () => {
    const fields = {
      id: ID,
      queue: 'mails',
      payload: '{"a":1e400}',
      attempt: 1,
      maxAttempts: 3,
      createdAt: new Date(),
    };
    const body = buildEnvelope(fields);
    const schema = delivery.requestBody?.content['application/json']?.schema ?? {};
    expect(check(schema, JSON.parse(body.toString()))).toEqual([]);
    const [signature, next] = delivery.parameters;
    expect(signature).toMatchObject({ name: 'x-service-signature', in: 'header', required: true });
    expect(next).toMatchObject({ name: 'x-service-signature-next', in: 'header', required: false });
    expect(check(signature?.schema ?? {}, sign(body, 'secret'))).toEqual([]);
    expect(Object.keys(delivery.responses).sort()).toEqual(['2XX', '429', '4XX', '503', '529', 'default']);
  });
});

describe('the check of live answers', () => {
  const QUEUES_URL = 'http://127.0.0.1/v1/queues';
  const JOB_URL = `http://127.0.0.1/v1/jobs/${ID}`;
  const type = { 'content-type': 'application/json; charset=utf-8' };
  const job = operations.find(({ operation }) => operation.operationId === 'jobs.get')?.operation.responses['200'];
  const right = job?.content?.['application/json']?.example as Record<string, unknown>;
  const live = (status: number, body: unknown, headers: Record<string, string> = type) => ({
    status,
    headers: new Headers(headers),
    text: body === undefined ? '' : JSON.stringify(body),
  });
  const error = { error: 'why' };

  it.each<[name: string, method: string, url: string, answer: ReturnType<typeof live>]>([
    ['a job', 'GET', JOB_URL, live(200, right)],
    ['a slash at the end', 'GET', `${JOB_URL}/`, live(200, right)],
    ['a head', 'HEAD', JOB_URL, live(200, undefined)],
    ['401', 'GET', JOB_URL, live(401, error, { ...type, 'www-authenticate': 'Bearer' })],
    ['503', 'GET', JOB_URL, live(503, error, { ...type, 'retry-after': '1' })],
    ['no body', 'DELETE', `${QUEUES_URL}/${ID}`, live(204, undefined, {})],
    ['an unknown path', 'GET', 'http://127.0.0.1/v1/nothing', live(404, error)],
    ['an unknown method', 'PATCH', JOB_URL, live(404, error)],
    ['a path that is not UTF-8', 'GET', 'http://127.0.0.1/v1/jobs/%ff', live(400, error)],
    ['another interface', 'POST', 'http://127.0.0.1/graphql', live(418, 'anything')],
  ])('passes %s', (_name, method, url, answer) => {
    expect(() => assertDocumented(method, url, answer)).not.toThrow();
  });

  const { status: _, ...withoutStatus } = right;
  it.each<[name: string, method: string, url: string, answer: ReturnType<typeof live>, said: RegExp]>([
    ['a status that is not documented', 'GET', JOB_URL, live(409, error), /status is not documented/],
    ['a missing field', 'GET', JOB_URL, live(200, withoutStatus), /required property 'status'/],
    ['a field too many', 'GET', JOB_URL, live(200, { ...right, token: 'x' }), /additional properties.*token/],
    ['a field too many within', 'GET', JOB_URL, live(200, { ...right, history: [{ lease: 1 }] }), /lease/],
    ['a wrong type', 'GET', JOB_URL, live(200, { ...right, attempts: '1' }), /\/attempts must be integer/],
    ['a wrong time', 'GET', JOB_URL, live(200, { ...right, createdAt: 'today' }), /\/createdAt must match format/],
    ['a wrong id', 'GET', JOB_URL, live(200, { ...right, id: '1' }), /\/id must match pattern/],
    ['a null that may not be', 'GET', JOB_URL, live(200, { ...right, scheduledFor: null }), /\/scheduledFor must be/],
    ['401 without its challenge', 'GET', JOB_URL, live(401, error), /WWW-Authenticate is missing/],
    ['503 without a time', 'GET', JOB_URL, live(503, error), /Retry-After is missing/],
    ['503 with a wrong time', 'GET', JOB_URL, live(503, error, { ...type, 'retry-after': 'soon' }), /Retry-After/],
    ['another content type', 'GET', JOB_URL, live(200, right, { 'content-type': 'text/html' }), /content type/],
    ['a body where there is none', 'DELETE', `${QUEUES_URL}/${ID}`, live(204, {}), /should be no body/],
    ['the wrong shape of a 400', 'POST', QUEUES_URL, live(400, error), /\/error must be object/],
    ['200 for an unknown path', 'GET', 'http://127.0.0.1/v1/nothing', live(200, {}), /status is not documented/],
  ])('fails for %s', (_name, method, url, answer, said) => {
    expect(() => assertDocumented(method, url, answer)).toThrow(said);
    // A test may catch the error; its file fails all the same.
    expect(foundContradictions()).toEqual([expect.stringMatching(said)]);
  });

  it('looks at bodies that were taken, and not at those that were refused', () => {
    const send = (body: string, answer: ReturnType<typeof live>) => () =>
      assertDocumented('POST', `${JOB_URL}/defer`, answer, body);
    expect(send('{"retryAfter":1,"more":2}', live(200, right))).not.toThrow();
    expect(send('{"retryAfter":"1"}', live(400, error))).not.toThrow();
    expect(send('{"retryAfter":"1"}', live(200, right))).toThrow(/request: \/retryAfter must be number/);
    expect(foundContradictions()).toHaveLength(1);
  });
});
