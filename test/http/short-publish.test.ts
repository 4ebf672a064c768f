import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { unavailable } from '../../src/domain/errors.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { countedSince } from '../support/counted.ts';
import { testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, ID, job, KEY } from '../support/fake-services.ts';
import { fakeSignIn } from '../support/fake-sign-in.ts';
import { openWays, type Way } from '../support/two-ways.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Which publishes take the short way, and that none is published twice (decision 43).
 * short-publish-fuzz.test.ts compares the answers.
 */

const PATH = '/v1/queues/mails/jobs';
const BODY = '{"payload":{}}';
const created = {
  created: true,
  payloadDiffers: false,
  job: { id: ID, status: 'pending' as const, createdAt: CREATED_AT },
};

function request(body: string, { key = KEY, queue = 'mails', type = 'application/json', more = '', path = '' } = {}) {
  const head = [
    `POST ${path === '' ? `/v1/queues/${queue}/jobs` : path} HTTP/1.1`,
    ...['Host: x', `Authorization: Bearer ${key}`, `Content-Type: ${type}`, `Content-Length: ${body.length}`],
  ];
  return `${head.join('\r\n')}\r\n${more === '' ? '' : `${more}\r\n`}\r\n${body}`;
}

/** Sends the same on both ways. @returns whether it took the short one, and what became of it */
async function sendBoth({ short, full }: { short: Way; full: Way }, text: string, answers = 1) {
  const expected = await full.send(text, answers);
  const before = short.expressed();
  const seen = await short.send(text, answers);
  expect(seen).toEqual(expected);
  return { isShort: short.expressed() === before, seen };
}

describe('the short way is taken by a publish with', () => {
  it.each([
    ['a payload', request(BODY)],
    ['all members', request('{ "delay": 1.5, "payload": {"a":[1e400]}, "idempotencyKey": "k" }')],
    ['a key that may publish only', request(BODY, { key: 'publisher' })],
    ['a key for its queue', request(BODY, { key: 'of-mails' })],
    ['a rate limit that it keeps', request(BODY, { key: 'fast' })],
    ['a trace', request(BODY, { more: 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' })],
    ['a request id', request(BODY, { more: 'x-request-id: mine' })],
    ['an earlier job', request(BODY, { queue: 'again' })],
    ['an earlier job with another payload', request(BODY, { queue: 'differs' })],
    ['an origin', request(BODY, { more: 'Origin: https://one.example' })],
    ['the path of PUBLIC_URL', request(BODY, { path: `/base${PATH}` })],
    ['a body as large as allowed', request(`{"payload":{"a":"${'x'.repeat(4076)}"}}`)],
  ])('%s', async (_name, text) => {
    const signIn = fakeSignIn({ address: { url: new URL('https://one.example/base/') } });
    const ways = await openWays({ signIn, config: { corsOrigins: ['https://one.example'] } });
    const { isShort, seen } = await sendBoth(ways, text);
    expect(seen.answers[0]).toMatch(/^HTTP\/1.1 20[01] /);
    expect(seen.answers[0]).toContain('strict-transport-security');
    expect([isShort, seen.published.length]).toEqual([true, 1]);
  });

  it('others behind it on its connection, of which some take the full way', async () => {
    const ways = await openWays();
    const before = ways.short.expressed();
    const text = [request(BODY), request('{"payload":{},"a":1}'), request('{'), request(BODY)].join('');
    const { seen } = await sendBoth(ways, text, 4);
    expect(seen.answers.map((answer) => answer.slice(9, 12))).toEqual(['201', '201', '400', '201']);
    expect(ways.short.expressed() - before).toBe(4 + 2);
  });
});

describe('the full way is taken by a publish with', () => {
  it.each([
    ['an unknown name', 201, 1, request('{"payload":{},"scheduledFor":1}')],
    ['a charset', 201, 1, request(BODY, { type: 'application/json; charset=utf-8' })],
    ['a query', 201, 1, request(BODY, { path: `${PATH}?a=1` })],
    ['a key that is not in the cache', 201, 1, request(BODY, { key: 'stale' })],
    ['a wrong key', 401, 0, request(BODY, { key: 'wrong' })],
    ['a key that may not publish', 403, 0, request(BODY, { key: 'reader' })],
    ['a key for another queue', 404, 0, request(BODY, { key: 'of-mails', queue: 'again' })],
    ['too many requests', 429, 0, request(BODY, { key: 'slow' })],
    ['a body that is too large', 413, 0, request(`{"payload":{"a":"${'x'.repeat(5000)}"}}`)],
    ['a body that is no JSON', 400, 0, request('{"payload":')],
    ['a payload that is given twice', 400, 0, request('{"payload":{},"payload":{}}')],
    ['a delay that is too long', 400, 0, request('{"payload":{},"delay":86401}')],
    ['a suspended account', 403, 1, request(BODY, { key: 'suspended' })],
    ['no queue', 404, 1, request(BODY, { queue: 'missing' })],
    ['no attempts left', 402, 1, request(BODY, { queue: 'used-up' })],
    ['a database that is down', 503, 1, request(BODY, { queue: 'down' })],
    ['an outcome that is unknown', 503, 1, request(BODY, { queue: 'unknown' })],
    ['a bug of the service', 500, 1, request(BODY, { queue: 'bug' })],
    ['an answer that is not in the contract', 500, 1, request(BODY, { queue: 'malformed' })],
  ])('%s: %i, after %i calls of the service', async (_name, status, calls, text) => {
    const { isShort, seen } = await sendBoth(await openWays(), text);
    expect(seen.answers[0]?.slice(9, 12)).toBe(String(status));
    expect([isShort, seen.published.length]).toEqual([false, calls]);
  });
});

describe.each([
  ['short', true],
  ['full', false],
])('a publish on the %s way', (_way, hasShortWays) => {
  it.each([
    ['an unknown outcome', unavailable('it may have been stored', 'unknown')],
    ['a reason that is no error', 'route'],
    ['no reason', undefined],
  ])('a publish that fails with %s is not published again', async (_name, reason) => {
    const api = await testApi({ hasShortWays, services: { jobs: { publish: () => Promise.reject(reason) } } });
    const { status } = await api.send('POST', PATH, { body: BODY });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(api.calls.filter(({ method }) => method === 'jobs.publish')).toHaveLength(1);
  });

  it('a body that is cut off stores nothing and holds nothing', async () => {
    const api = await testApi({ hasShortWays });
    const refused = countedSince(counts.refusedPublishes, 'invalid');
    const { socket } = api.raw(request(BODY).replace('Content-Length: 14', 'Content-Length: 15'));
    await waitFor(() => api.calls.length > 0, { message: 'the look-up of the key' });
    socket.destroy();
    await waitFor(() => refused() === 1, { message: 'the refusal' });
    expect(api.calls.filter(({ method }) => method === 'jobs.publish')).toEqual([]);
    await api.close();
  });

  it('a body that comes slowly is stored once', async () => {
    const api = await testApi({ hasShortWays });
    const text = request(BODY, { more: 'Connection: close' });
    const { socket, received } = api.raw(text.slice(0, -8));
    for (const part of text.slice(-8)) {
      await sleep(5);
      socket.write(part);
    }
    expect(await received).toMatch(/^HTTP\/1.1 201 /);
    expect(api.calls.filter(({ method }) => method === 'jobs.publish')).toHaveLength(1);
  });

  it('a client that has left before the answer changes nothing about its publish', async () => {
    const aborted = countedSince(counts.requests, 'POST\t/v1/queues/:queueName/jobs\taborted');
    let finish = () => {};
    const publish = () => new Promise<typeof created>((resolve) => (finish = () => resolve(created)));
    const api = await testApi({ hasShortWays, services: { jobs: { publish } } });
    const { socket } = api.raw(request(BODY));
    await waitFor(() => api.calls.some(({ method }) => method === 'jobs.publish'), { message: 'the publish' });
    socket.destroy();
    await waitFor(() => aborted() === 1, { message: 'the end of the request' });
    finish();
    await api.close();
    expect(api.logged).toEqual([]);
  });

  it('a key that was revoked during a long publish gets no answer', async () => {
    let isRevoked = false;
    const publish = async () => {
      isRevoked = true;
      await sleep(150);
      return created;
    };
    const accounts = { authenticate: async () => (isRevoked ? null : account), authenticated: () => account };
    const api = await testApi({ hasShortWays, services: { jobs: { publish }, accounts } });
    expect(await api.send('POST', PATH, { body: BODY })).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
    });
  });

  it('a request is counted once for its rate limit, also if its body is unusual', async () => {
    const api = await testApi({ hasShortWays, config: { requestRates: { ofKey: 4, ofAccount: null } } });
    // All of them come within one second, however long they take.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    onTestFinished(() => clock.mockRestore());
    const bodies = [BODY, '{"payload":{},"a":1}', '{"payload":1}', '{', BODY, BODY];
    const statuses = [];
    for (const body of bodies) statuses.push((await api.send('POST', PATH, { body })).status);
    expect(statuses).toEqual([201, 201, 400, 400, 429, 429]);
  });

  it('a full process refuses, and every publish gives its place back', async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const publish = () => finished.then(() => created);
    const api = await testApi({ hasShortWays, services: { jobs: { publish } } });
    const begun = () => api.calls.filter(({ method }) => method === 'jobs.publish').length;
    // All bodies arrive together, after the keys were checked. Half of the publishes are handed over after their turn.
    const bodyOf = (n: number) => (n % 2 === 0 ? BODY : '{"payload":{},"a":1}');
    const clients = Array.from({ length: 300 }, (_, n) => {
      const head = request(bodyOf(n), { more: 'Connection: close' }).slice(0, -bodyOf(n).length);
      return api.raw(head);
    });
    await waitFor(() => api.calls.length >= 300, { message: 'the look-ups of the keys' });
    for (const [n, { socket }] of clients.entries()) socket.write(bodyOf(n));
    const refused = await Promise.any(clients.map(({ received }) => received));
    expect(refused).toMatch(/^HTTP\/1.1 503 /);
    expect(refused.toLowerCase()).toContain('\r\nretry-after: 1\r\n');
    expect(begun()).toBe(256);
    finish();
    const answers = await Promise.all(clients.map(({ received }) => received));
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 201'))).toHaveLength(begun());
    const again = Array.from({ length: 128 }, (_, n) => api.send('POST', PATH, { body: bodyOf(n) }));
    expect((await Promise.all(again)).every(({ status }) => status === 201)).toBe(true);
  });

  it('an account with too many unread answers publishes nothing', async () => {
    const payload = `{"text":"${'x'.repeat(12 << 20)}"}`;
    const list = async () => ({ jobs: [{ ...job, payload }], total: 1, page: 1, limit: 25, appliedFrom: CREATED_AT });
    const api = await testApi({ hasShortWays, services: { jobs: { list } } });
    const read = `GET /v1/queues/${ID}/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
    const unread = Array.from({ length: 4 }, () => api.raw(read).socket.pause());
    await waitFor(async () => (await api.send('GET', '/v1/queues')).status === 503, { message: 'a refusal' });
    const before = api.calls.length;
    const error = expect.stringContaining('answers unread: read those answers');
    expect(await api.send('POST', PATH, { body: BODY })).toMatchObject({ status: 503, json: { error } });
    expect(api.calls.slice(before).filter(({ method }) => method === 'jobs.publish')).toEqual([]);
    for (const socket of unread) socket.destroy();
  });

  it('a connection counts for the account of its publish', async () => {
    const api = await testApi({ hasShortWays, connections: 4 });
    const stranger = api.raw('').socket;
    const closed = new Set<number>();
    for (let n = 0; n < 3; n += 1) {
      const { socket } = api.raw(request(BODY));
      await new Promise((resolve) => socket.once('data', resolve));
      socket.once('close', () => closed.add(n));
    }
    // The account has most of the connections, so one of its own is closed for the next one.
    const next = api.raw('').socket;
    await waitFor(() => closed.size === 1, { message: 'the end of a connection' });
    expect(stranger.destroyed).toBe(false);
    for (const socket of [stranger, next]) socket.destroy();
  });
});
