import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastAnswer, type RawConnection, startVictim } from '../support/hostile.ts';
import { refusal, UNKNOWN_ID } from '../support/shapes.ts';

/**
 * Generated input for every route that takes any (reliability I-39): whatever comes, the answer is
 * JSON below 500 in the spec's shape. A failure prints the seed and the smallest input that fails.
 */

const victim = startVictim({ MAX_BODY_BYTES: '65536' });
const CASES = { numRuns: 300, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true };

/** H36: says one more character a second of its headers, while everything else in this file is at work. */
let slow: RawConnection;
let drip: NodeJS.Timeout;

beforeAll(() => {
  slow = victim.raw('GET /healthz HTTP/1.1\r\n');
  drip = setInterval(() => slow.socket.write('X'), 1000);
});

afterAll(() => {
  clearInterval(drip);
  slow.socket.destroy();
});

/** Texts that mean something to a parser, a database or JavaScript. */
const LOADED_TEXTS = [
  ...['', ' ', '\0', '\ud800', '\uffff', '%', '_', '\\', "'", '"', '$1', '{}', '[]', 'null', 'NaN', 'true', '0', '-1'],
  ...['__proto__', 'constructor', 'toString', 'infinity', 'now', '1e400', '../..', '%00', '\u202e', '🚢'],
  ...['ack', 'standard', 'fixed', 'retry', 'dead', 'queue', 'job', 'openai', 'http://127.0.0.1:9/', UNKNOWN_ID],
];
const text = fc.oneof(fc.constantFrom(...LOADED_TEXTS), fc.string({ unit: 'binary' }), fc.string({ maxLength: 300 }));
const number = fc.oneof(
  fc.constantFrom('0', '-0', '1', '-1', '0.001', '1e400', '-1e400', '9007199254740993', '2147483648', '1e-400', '3.0'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
);

/** JSON source text, so that numbers and keys come in forms that `JSON.stringify` never writes. */
const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text.map((plain) => JSON.stringify(plain)),
    number,
    fc.constantFrom('null', 'true', 'false'),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  object: fc
    .array(fc.tuple(text, tie('value')), { maxLength: 4 })
    .map((members) => `{${members.map(([key, member]) => `${JSON.stringify(key)}:${member}`).join(' , ')}}`),
}));

/** What a route takes: values of each member that it knows, and which members it cannot do without. */
interface Members {
  required?: Record<string, readonly string[]>;
  optional: Record<string, readonly string[]>;
}

/** Objects with the route's own members, mostly with values that it takes, and now and then no object at all. */
function bodyOf({ required = {}, optional }: Members): fc.Arbitrary<string> {
  const good = (sources: readonly string[]) => fc.constantFrom(...sources);
  const known = fc
    .constantFrom(...Object.entries({ ...required, ...optional }))
    .chain(([name, sources]) => fc.tuple(fc.constant(name), good(sources)));
  const bad = fc.tuple(fc.oneof(fc.constantFrom(...Object.keys({ ...required, ...optional })), text), value);
  const needed = Object.entries(required).map(([name, sources]) => fc.tuple(fc.constant(name), good(sources)));
  const object = fc
    .tuple(
      fc.oneof({ weight: 9, arbitrary: fc.tuple(...needed) }, { weight: 1, arbitrary: fc.constant([]) }),
      fc.array(known, { maxLength: 4 }),
      fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(bad, { maxLength: 2 }) }),
    )
    .map((members) => members.flat().map(([name, source]) => `${JSON.stringify(name)}:${source}`))
    .map((members) => `{${members.join(',')}}`);
  const broken = fc.tuple(object, fc.nat()).map(([source, at]) => source.slice(0, at % (source.length + 1)));
  return fc.oneof(
    { weight: 9, arbitrary: object },
    ...[value, broken, text].map((arbitrary) => ({ weight: 1, arbitrary })),
  );
}

const WEBHOOKS = ['"http://127.0.0.1:9/"', '"https://example.com/"', '"http://[::1]:9/x?y#z"', '"http:127.0.0.1"'];
const SETTINGS = {
  maxAttempts: ['1', '25'],
  maxDefers: ['0', '1000'],
  concurrency: ['1', '2'],
  dlqEnabled: ['true', 'false'],
  mode: ['"ack"', '"standard"'],
  rateLimitMax: ['null', '1', '2147483647'],
  rateLimitWindow: ['0.001', '3600'],
  ackTimeout: ['0.001', '86400'],
  ackTimeoutAction: ['"dead"', '"retry"'],
  backoffType: ['"fixed"', '"exponential"'],
  backoffDelay: ['0', '3600'],
};
const REASONS = ['"why"', '""', '"é\\u0001"'];

/** Fails unless the answer is one that the spec knows for this route. */
function judge(answer: { status: number; body: unknown; text: string }, shape: 'fields' | 'message'): void {
  const { status, body, text: said } = answer;
  expect(status, said).toBeLessThan(500);
  if (status < 400) return;
  const fields = { formErrors: expect.any(Array), fieldErrors: expect.any(Object) };
  expect(body).toEqual({ error: status === 400 && shape === 'fields' ? fields : expect.any(String) });
}

interface Target {
  method: string;
  /** Asked for each case. */
  path: () => string;
  shape: 'fields' | 'message';
  /** Undoes what a call that succeeded made. */
  undo?: (made: { id: string }) => Promise<unknown>;
}

async function fuzzBodies({ method, path, shape, undo }: Target, members: Members): Promise<void> {
  const seen = { taken: 0, refused: 0 };
  const property = fc.asyncProperty(bodyOf(members), async (body) => {
    const answer = await victim.send(method, path(), body);
    judge(answer, shape);
    seen[answer.status < 300 ? 'taken' : 'refused'] += 1;
    if (answer.status < 300) await undo?.(answer.body);
  });
  await fc.assert(property, CASES);
  // Generated input that is always refused would look at the parser only, over and over.
  expect(seen.taken).toBeGreaterThan(10);
  expect(seen.refused).toBeGreaterThan(10);
}

describe('bodies of', () => {
  it('publish', () =>
    fuzzBodies(
      { method: 'POST', path: () => `/v1/queues/${victim.queue.name}/jobs`, shape: 'fields' },
      {
        required: { payload: ['{}', '{"a":1e400}'] },
        optional: { idempotencyKey: ['"k"', '"K"'], delay: ['9', '0.5'] },
      },
    ));

  it('create', () =>
    fuzzBodies(
      {
        ...{ method: 'POST', path: () => '/v1/queues', shape: 'fields' },
        undo: ({ id }) => victim.send('DELETE', `/v1/queues/${id}`),
      },
      {
        required: { name: ['"a"', '"-"', '"victim"'], webhookUrl: WEBHOOKS },
        optional: { ...SETTINGS, template: ['"openai"', '"anthropic"'] },
      },
    ));

  it('update', async () => {
    const { id } = await victim.api.createQueue({ name: 'edited', webhookUrl: 'http://127.0.0.1:9/' });
    await fuzzBodies(
      { method: 'PUT', path: () => `/v1/queues/${id}`, shape: 'fields' },
      { optional: { ...SETTINGS, name: ['"edited"', '"edited"', '"other"'], webhookUrl: WEBHOOKS } },
    );
  });

  it.each<[verb: string, members: Members]>([
    ['nack', { optional: { retryable: ['true', 'true', 'false'], reason: REASONS } }],
    [
      'defer',
      { required: { retryAfter: ['0', '0.5', '1e9'] }, optional: { scope: ['"queue"', '"job"'], reason: REASONS } },
    ],
  ])('%s', async (verb, members) => {
    // A queue of its own, so that a hold of one does not stop the other, and many jobs to report on.
    const { api, receiver } = victim;
    const settings = { mode: 'ack', concurrency: 100, backoffDelay: 0, maxAttempts: 25 };
    const queue = await api.createQueue({ webhookUrl: receiver.url, ...settings });
    const jobs = await Promise.all(Array.from({ length: 100 }, () => api.publish(queue.name)));
    await Promise.all(jobs.map(({ id }) => api.waitForStatus(id, 'awaiting_ack')));
    let calls = 0;
    const path = () => `/v1/jobs/${jobs[calls++ % jobs.length]?.id}/${verb}`;
    await fuzzBodies({ method: 'POST', path, shape: 'message' }, members);
    for (const { id } of jobs) expect((await victim.send('GET', `/v1/jobs/${id}`)).status).toBe(200);
  });

  it('bulk replay', () =>
    fuzzBodies(
      { method: 'POST', path: () => `/v1/queues/${victim.queue.id}/dlq/replay`, shape: 'message' },
      { optional: { jobIds: [`["${UNKNOWN_ID}"]`, '["x","x",""]'], all: ['true', 'false'] } },
    ));
});

describe('queries of', () => {
  const names = ['page', 'limit', 'status', 'from', 'to', 'idempotencyKey', 'includeReplayed', 'page[]', 'x'];
  const good = [
    '1',
    '25',
    'dead',
    'true',
    '2026-01-31T12:00:00Z',
    '2026-01-31T12:00:00.5+01:00',
    '9999-12-31T23:59:59Z',
  ];
  const encoded = fc
    .oneof(fc.constantFrom(...good), text, number)
    .map((plain) => encodeURIComponent(plain.toWellFormed()));
  const parameter = fc.tuple(
    fc.constantFrom(...names),
    fc.oneof({ weight: 9, arbitrary: encoded }, fc.constant('%zz')),
  );
  const query = fc
    .array(parameter, { maxLength: 5 })
    .map((list) => list.map(([name, source]) => `${name}=${source}`).join('&'));

  it.each(['jobs', 'dlq'])('the %s list', async (list) => {
    const property = fc.asyncProperty(query, async (parameters) => {
      const answer = await victim.send('GET', `/v1/queues/${victim.queue.id}/${list}?${parameters}`);
      judge(answer, 'message');
      if (answer.status === 200)
        expect(answer.body).toMatchObject({ jobs: expect.any(Array), total: expect.any(Number) });
    });
    await fc.assert(property, CASES);
  });
});

describe('paths', () => {
  it('of every form are answered', async () => {
    const segment = fc.oneof(
      fc.constantFrom('v1', 'queues', 'jobs', 'dlq', 'replay', 'ack', '.', '..', '', UNKNOWN_ID, '%00', '%zz'),
      text.map((plain) => encodeURIComponent(plain.toWellFormed())),
    );
    const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/v1/queues/${segments.join('/')}`);
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS');
    const property = fc.asyncProperty(method, path, async (verb, target) => {
      const { status, text: said } = await victim.send(verb, target);
      expect(status, said).toBeLessThan(500);
    });
    await fc.assert(property, CASES);
  });
});

describe('H36 a client that never comes to the end of its headers', () => {
  it('is not waited for', async () => {
    expect(lastAnswer(await slow.received)).toEqual({ status: 408, body: refusal });
  });
});
