import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiQueue } from '../support/api.ts';
import {
  FUZZ_TIMEOUT_MS,
  type FuzzAnswer,
  type FuzzClient,
  fuzz,
  number,
  openClient,
  outOf2000,
  text,
  value,
} from '../support/fuzz.ts';
import { KEY, lastAnswer, type RawConnection, startVictim } from '../support/hostile.ts';
import { assertDocumented } from '../support/openapi.ts';
import { refusal, UNKNOWN_ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Generated input for every route of the contract (I-39): whatever comes, the answer is JSON
 * below 500 in the shape that the OpenAPI document has for it, from the same process, which logs no
 * error. A failure names its seed and the smallest input that fails. GraphQL is in fuzz-graphql.
 */

const victim = startVictim({ MAX_BODY_BYTES: '65536' });
let client: FuzzClient;

/** H36: two requests with an endless body, while all other tests of this file run. */
let slow: { headers: RawConnection; body: RawConnection };
let drip: NodeJS.Timeout;

beforeAll(() => {
  client = openClient(victim.jobferry.baseUrl);
  slow = {
    headers: victim.raw('GET /healthz HTTP/1.1\r\n'),
    body: victim.raw(
      `POST /v1/queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 9000\r\n\r\n{`,
    ),
  };
  drip = setInterval(() => {
    for (const { socket } of Object.values(slow)) socket.write('X');
  }, 1000);
});

afterAll(async () => {
  clearInterval(drip);
  for (const { socket } of Object.values(slow)) socket.destroy();
  await client.close();
});

/** The input of a route: values of each member that it knows, and which members it cannot do without. */
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

/** A query string of what lists know, with good and bad values, and of what they do not know. */
const parameter = fc.tuple(
  fc.constantFrom('page', 'limit', 'status', 'from', 'to', 'idempotencyKey', 'includeReplayed', 'page[]', 'x'),
  fc.oneof(
    {
      weight: 9,
      arbitrary: fc
        .oneof(
          fc.constantFrom('1', '25', 'dead', 'true', '2026-01-31T12:00:00Z', '2026-01-31T12:00:00.5+01:00'),
          fc.constantFrom('9999-12-31T23:59:59Z', 'pending', 'false'),
          text,
          number,
        )
        .map((plain) => encodeURIComponent(plain.toWellFormed())),
    },
    { weight: 1, arbitrary: fc.constant('%zz') },
  ),
);
const query = fc
  .array(parameter, { maxLength: 5 })
  .map((list) => list.map(([name, source]) => `${name}=${source}`).join('&'))
  .map((parameters) => (parameters === '' ? '' : `?${parameters}`));

/** Dots alone would be another path. */
const hostileSegment = fc
  .oneof(
    fc.constantFrom('%zz', '%00', '%2e%2e%2f', UNKNOWN_ID),
    text.map((t) => encodeURIComponent(t.toWellFormed())),
  )
  .map((segment) => (/^\.*$/.test(segment) ? 'x' : segment));

/** One of what there is, and now and then something that cannot be. */
function segmentOf(known: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: hostileSegment });
}

const headers = fc.oneof(
  { weight: 15, arbitrary: fc.constant({ 'content-type': 'application/json' }) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        'content-type': fc.constantFrom(
          'text/plain',
          'application/json;charset=utf-16',
          'application/json ; x',
          ';',
          '',
        ),
        'content-encoding': fc.constantFrom('gzip', 'identity', 'x, y'),
        accept: fc.constantFrom('text/html', '*/*;q=2', ','),
        'accept-language': fc.string({ maxLength: 50 }).map((plain) => plain.replace(/[^\x21-\x7e]/g, '!')),
      },
      { requiredKeys: [] },
    ),
  },
);

/** Fails unless the answer is one that the OpenAPI document knows for this route, and no failure of ours. */
function judge(method: string, path: string, answer: FuzzAnswer, body: string | undefined): void {
  expect(answer.status, answer.text).toBeLessThan(500);
  assertDocumented(method, new URL(path, victim.jobferry.baseUrl).href, answer, body);
}

interface Route {
  method: string;
  path: fc.Arbitrary<string>;
  members?: Members;
  /** Undoes what a call that succeeded made. */
  undo?: (made: { id: string }) => Promise<unknown>;
  /** Out of 2000 cases; for routes that refuse nothing, or take nothing twice. */
  taken?: number;
  refused?: number;
}

async function fuzzRoute({ method, path, members, undo, taken = 100, refused = 100 }: Route): Promise<void> {
  const seen = { taken: 0, refused: 0 };
  const body = members === undefined ? fc.constantFrom(undefined, '', '{"a":') : bodyOf(members);
  const cases = fc.record({ path, headers, body: method === 'GET' ? fc.constant(undefined) : body });
  await fuzz(cases, async (input) => {
    const all = { authorization: `Bearer ${KEY}`, ...input.headers };
    const answer = await client.send(method, input.path, all, input.body);
    judge(method, input.path, answer, input.body);
    seen[answer.status < 300 ? 'taken' : 'refused'] += 1;
    if (answer.status < 300) await undo?.(JSON.parse(answer.text));
  });
  // Input that is always refused would look at the parser only, over and over.
  expect(seen.taken).toBeGreaterThanOrEqual(outOf2000(taken));
  expect(seen.refused).toBeGreaterThanOrEqual(outOf2000(refused));
}

/** A queue of its own, so that a hold of one route does not stop the other, and many jobs to report on. */
async function awaitingAck(api: Api, count: number): Promise<string[]> {
  const settings = { mode: 'ack', concurrency: count, backoffDelay: 0, maxAttempts: 25 };
  const queue = await api.createQueue({ webhookUrl: victim.receiver.url, ...settings });
  const jobs = await Promise.all(Array.from({ length: count }, () => api.publish(queue.name)));
  await Promise.all(jobs.map(({ id }) => api.waitForStatus(id, 'awaiting_ack')));
  return jobs.map(({ id }) => id);
}

/** With so many dead letters: no server listens on port 9. */
async function deadLetters(api: Api, count: number): Promise<{ queue: ApiQueue; ids: string[] }> {
  const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/', concurrency: 50, maxAttempts: 1 });
  await Promise.all(Array.from({ length: count }, () => api.publish(queue.name)));
  const list = () => api.listDeadLetters(queue.id, '?limit=100');
  const { jobs } = await waitFor(async () => ((await list()).total === count ? list() : null), {
    message: 'dead letters',
  });
  return { queue, ids: jobs.map(({ id }) => id) };
}

describe('routes of queues', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('list', () => fuzzRoute({ method: 'GET', path: query.map((q) => `/v1/queues${q}`), refused: 0 }));

  it('create', () =>
    fuzzRoute({
      method: 'POST',
      path: fc.constant('/v1/queues'),
      members: {
        required: { name: ['"a"', '"-"', '"b"', '"c_1"', '"victim"'], webhookUrl: WEBHOOKS },
        optional: { ...SETTINGS, template: ['"openai"', '"anthropic"'] },
      },
      undo: ({ id }) => client.send('DELETE', `/v1/queues/${id}`, { authorization: `Bearer ${KEY}` }),
    }));

  it('get', () =>
    fuzzRoute({
      method: 'GET',
      path: fc.tuple(segmentOf([victim.queue.id]), query).map(([id, q]) => `/v1/queues/${id}${q}`),
    }));

  it('update', async () => {
    const { id } = await victim.api.createQueue({ name: 'edited', webhookUrl: 'http://127.0.0.1:9/' });
    await fuzzRoute({
      method: 'PUT',
      path: segmentOf([id]).map((segment) => `/v1/queues/${segment}`),
      members: { optional: { ...SETTINGS, name: ['"edited"', '"edited"', '"other"'], webhookUrl: WEBHOOKS } },
    });
  });

  it('delete', async () => {
    const queues: ApiQueue[] = [];
    while (queues.length < outOf2000(150)) {
      queues.push(await victim.api.createQueue({ webhookUrl: 'http://127.0.0.1:9/', concurrency: 1 }));
    }
    const path = segmentOf(queues.map(({ id }) => id)).map((id) => `/v1/queues/${id}`);
    await fuzzRoute({ method: 'DELETE', path });
  });
});

describe('routes of jobs', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('publish', async () => {
    const queue = await victim.api.createQueue({ webhookUrl: victim.receiver.url, concurrency: 5 });
    await fuzzRoute({
      method: 'POST',
      path: segmentOf([queue.name]).map((name) => `/v1/queues/${name}/jobs`),
      members: {
        required: { payload: ['{}', '{"a":1e400}', '{"\\u0000":"\\ud800","a":[{}],"a":2}'] },
        optional: { idempotencyKey: ['"k"', '"K"', '"\u2028"'], delay: ['9', '0.5', '86400'] },
      },
    });
  });

  it('list', () =>
    fuzzRoute({
      method: 'GET',
      path: fc.tuple(segmentOf([victim.queue.id]), query).map(([id, q]) => `/v1/queues/${id}/jobs${q}`),
    }));

  it('get', () => fuzzRoute({ method: 'GET', path: segmentOf([victim.jobId]).map((id) => `/v1/jobs/${id}`) }));

  it.each<[verb: string, members: Members | undefined]>([
    ['ack', undefined],
    ['nack', { optional: { retryable: ['true', 'true', 'false'], reason: REASONS } }],
    [
      'defer',
      {
        required: { retryAfter: ['0', '0', '0.5', '1e9'] },
        optional: { scope: ['"queue"', '"job"'], reason: REASONS },
      },
    ],
  ])('%s', async (verb, members) => {
    const jobs = await awaitingAck(victim.api, 100);
    const path = segmentOf(jobs).map((id) => `/v1/jobs/${id}/${verb}`);
    await fuzzRoute({ method: 'POST', path, ...(members === undefined ? {} : { members }), taken: 50 });
    for (const id of jobs) expect((await victim.send('GET', `/v1/jobs/${id}`)).status).toBe(200);
  });
});

describe('routes of dead letters', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('list', () =>
    fuzzRoute({
      method: 'GET',
      path: fc.tuple(segmentOf([victim.queue.id]), query).map(([id, q]) => `/v1/queues/${id}/dlq${q}`),
    }));

  it('replay', async () => {
    const { queue, ids } = await deadLetters(victim.api, 100);
    const path = fc
      .tuple(segmentOf([queue.id]), segmentOf(ids))
      .map(([queueId, id]) => `/v1/queues/${queueId}/dlq/${id}/replay`);
    await fuzzRoute({ method: 'POST', path, taken: 50 });
  });

  it('bulk replay', async () => {
    const { queue, ids } = await deadLetters(victim.api, 50);
    await fuzzRoute({
      method: 'POST',
      path: segmentOf([queue.id]).map((id) => `/v1/queues/${id}/dlq/replay`),
      members: {
        optional: {
          jobIds: [`["${UNKNOWN_ID}"]`, '["x","x",""]', ...ids.map((id) => `["${id}","${UNKNOWN_ID}"]`)],
          all: ['true', 'false'],
        },
      },
    });
  });
});

describe('paths', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('paths of every form are answered, by every method', async () => {
    const segment = fc.oneof(
      fc.constantFrom('v1', 'queues', 'jobs', 'dlq', 'replay', 'ack', '.', '..', '', UNKNOWN_ID, '%00', '%zz', '%2e'),
      fc.constantFrom('graphql', 'healthz', 'readyz', 'openapi.json', 'docs', 'metrics'),
      text.map((plain) => encodeURIComponent(plain.toWellFormed())),
    );
    const start = fc.constantFrom('/v1/queues/', '/v1/', '/', '//', '/v1/jobs/', '/docs/');
    const path = fc
      .tuple(start, fc.array(segment, { maxLength: 6 }))
      .map(([first, segments]) => first + segments.join('/'));
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'QUERY');
    await fuzz(fc.record({ method, path, key: fc.boolean() }), async (input) => {
      const answer = await client.send(input.method, input.path, input.key ? { authorization: `Bearer ${KEY}` } : {});
      expect(answer.status, answer.text).toBeLessThan(500);
      if (answer.status < 400 || input.method === 'HEAD') return;
      expect(answer.headers.get('content-type'), answer.text).toBe('application/json; charset=utf-8');
      expect(Object.keys(JSON.parse(answer.text))).toEqual(['error']);
    });
  });
});

describe('H36 a client that never comes to the end', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it.each(['headers', 'body'] as const)('a client that never ends its %s is not waited for', async (part) => {
    expect(lastAnswer(await slow[part].received)).toEqual({ status: 408, body: refusal });
  });
});
