import { describe, expect, it } from 'vitest';
import { TooManySignIns } from '../../src/domain/session.ts';
import type { GraphQLEndpoint } from '../../src/http/index.ts';
import { FailedSignIns } from '../../src/http/sign-in/failed-sign-ins.ts';
import { SignInFailure } from '../../src/services/oidc/provider.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type Sent, testApi } from '../support/fake-api.ts';
import { KEY } from '../support/fake-services.ts';
import { fakeSignIn, LINK, TOKEN } from '../support/fake-sign-in.ts';

const graphql: GraphQLEndpoint = {
  execute: async (_req, res, _body, { client }) => void res.end(JSON.stringify(client.session?.id ?? 'key')),
  page: null,
};

const notHere = () => Promise.reject(new Error('not in this test'));

const withoutKey = { authorization: undefined };

async function signInApi(address: string | null = null, overrides: Parameters<typeof fakeSignIn>[0] = {}) {
  const url = address === null ? null : new URL(address);
  const api = await testApi({ graphql, signIn: fakeSignIn({ address: { url }, ...overrides }) });
  const post = (body: object | string, headers: Sent['headers'] = {}) =>
    api.send('POST', '/session', {
      headers: { ...withoutKey, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return { ...api, post, host: api.url.host };
}

describe('signing in', () => {
  it('exchanges an API key for a cookie that scripts cannot read', async () => {
    const { post, url } = await signInApi();
    const { status, text, headers } = await post({ apiKey: KEY });
    expect([status, text]).toEqual([204, '']);
    expect(headers['set-cookie']).toEqual([
      `jobferry-${url.port}=${TOKEN}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict`,
    ]);
  });

  it.each([
    ['https://jobs.example.com/', '__Host-jobferry', '/'],
    ['https://jobs.example.com:8443/', '__Host-jobferry-8443', '/'],
    ['https://example.com/jobferry/', '__Secure-jobferry', '/jobferry/'],
  ])('has a secure cookie at %s', async (address, name, path) => {
    const { post } = await signInApi(address);
    const { headers } = await post({ apiKey: KEY }, { origin: new URL(address).origin });
    expect(headers['set-cookie']).toEqual([
      `${name}=${TOKEN}; Path=${path}; Max-Age=60; HttpOnly; SameSite=Strict; Secure`,
    ]);
  });

  it.each([
    ['https://jobs.example.com/', 'max-age=2592000'],
    ['https://example.com/jobferry/', 'max-age=2592000'],
    ['https://jobs.example.com:8443/', undefined],
    ['http://jobs.example.com/', undefined],
    [null, undefined],
  ])('a service at %s lets browsers use https for the host: %s', async (address, expected) => {
    const { send } = await signInApi(address);
    const { headers } = await send('GET', new URL('session', address ?? 'http://localhost/').pathname);
    expect(headers['strict-transport-security']).toBe(expected);
  });

  it('has a secure cookie when the page is https, also without PUBLIC_URL', async () => {
    const { post } = await signInApi();
    const { headers } = await post({ apiKey: KEY }, { host: 'jobs.test', origin: 'https://jobs.test' });
    expect(headers['set-cookie']?.[0]).toMatch(/^__Host-jobferry=.*; Secure$/);
  });

  it('takes a link', async () => {
    const { post } = await signInApi();
    expect((await post({ link: LINK })).status).toBe(204);
    expect(await post({ link: 'jfl_other' })).toMatchObject({ status: 401, json: { error: expect.any(String) } });
  });

  it.each([[{}], [{ apiKey: 1 }], [{ apiKey: KEY, link: LINK }], ['[]'], ['null'], ['"x"']])(
    'refuses the body %j',
    async (body) => {
      const { post } = await signInApi();
      expect(await post(body)).toMatchObject({ status: 400, json: { error: expect.any(String) } });
    },
  );

  it('refuses keys when only the OpenID provider counts', async () => {
    const oidc = {
      name: 'id.example.com',
      people: { begin: notHere, finish: notHere },
      log: { warn: () => undefined },
    };
    const { post, send } = await signInApi('http://localhost/', { takesKeys: false, oidc });
    expect((await post({ apiKey: KEY })).status).toBe(403);
    expect((await send('GET', '/session', { headers: withoutKey })).json).toEqual({
      signedIn: false,
      methods: { apiKey: false, oidc: { name: 'id.example.com' } },
    });
  });

  it('is refused after too many failures, but not with a secret that cannot be guessed', async () => {
    const { post } = await signInApi();
    const failures = await Promise.all(Array.from({ length: 25 }, () => post({ apiKey: 'a-wrong-key' })));
    expect(failures.map(({ status }) => status).sort()).toEqual([...Array(20).fill(401), ...Array(5).fill(429)]);
    const refused = await post({ apiKey: 'a-weak-but-right-key' });
    expect([refused.status, Number(refused.headers['retry-after'])]).toEqual([429, expect.any(Number)]);
    expect(refused.json.error).toMatch(/^too many failed sign-ins: try again in \d+ s$/);
    // These cannot be guessed, so they are not limited.
    for (const secret of [{ apiKey: 'jf_wrong' }, { link: 'jfl_wrong' }]) expect((await post(secret)).status).toBe(401);
    expect((await post({ apiKey: KEY })).status).toBe(204);
  });

  it('is refused after too many sign-ins, which are no failures', async () => {
    const { sessions } = fakeSignIn();
    let isTooMany = true;
    const startOfKey: typeof sessions.startOfKey = (...input) =>
      isTooMany ? Promise.reject(new TooManySignIns()) : sessions.startOfKey(...input);
    const { post } = await signInApi(null, { sessions: { ...sessions, startOfKey } });
    for (let n = 0; n < 25; n += 1) {
      const { status, headers, json } = await post({ apiKey: KEY });
      const error = 'more than 20 sign-ins in a minute: wait a minute';
      expect([status, headers['retry-after'], json]).toEqual([429, '60', { error }]);
    }
    isTooMany = false;
    expect((await post({ apiKey: KEY })).status).toBe(204);
  });

  it('ends the session that the browser had', async () => {
    const ended: string[] = [];
    const { sessions } = fakeSignIn();
    const { post, url } = await signInApi(null, {
      sessions: { ...sessions, endOwn: async (token) => void ended.push(token) },
    });
    await post({ apiKey: KEY }, { cookie: `jobferry-${url.port}=jfs_old` });
    expect(ended).toEqual(['jfs_old']);
  });
});

describe('a session', () => {
  it('is told apart from none, and ends', async () => {
    const { send, url } = await signInApi();
    const cookie = `other=1; jobferry-${url.port}=${TOKEN}`;
    const state = async () => (await send('GET', '/session', { headers: { ...withoutKey, cookie } })).json.signedIn;
    expect(await state()).toBe(true);
    const ended = await send('DELETE', '/session', { headers: { ...withoutKey, cookie } });
    expect([ended.status, ended.headers['set-cookie']?.[0]]).toEqual([
      204,
      expect.stringContaining('=; Path=/; Max-Age=0'),
    ]);
    expect(await state()).toBe(false);
  });

  it('counts for GraphQL, and not for REST', async () => {
    const { send, url, host } = await signInApi();
    const headers = { ...withoutKey, cookie: `jobferry-${url.port}=${TOKEN}`, 'jobferry-dashboard': '1' };
    const own = { ...headers, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
    expect((await send('POST', '/graphql', { headers: own, body: '{}' })).json).toBe('session');
    expect((await send('GET', '/v1/queues', { headers: own })).status).toBe(401);
  });

  it('does not come before an API key', async () => {
    const { send, url } = await signInApi();
    const headers = { cookie: `jobferry-${url.port}=${TOKEN}`, 'jobferry-dashboard': '1' };
    expect((await send('POST', '/graphql', { headers, body: '{}' })).json).toBe('key');
    for (const authorization of ['Bearer jf_wrong', 'bearer', 'BEARER two words']) {
      const wrong = { ...headers, authorization };
      expect((await send('POST', '/graphql', { headers: wrong, body: '{}' })).status).toBe(401);
    }
  });

  it('counts behind a proxy that asks for a name and a password', async () => {
    const { send, url } = await signInApi();
    const authorization = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
    const headers = { cookie: `jobferry-${url.port}=${TOKEN}`, 'jobferry-dashboard': '1', authorization };
    expect((await send('POST', '/graphql', { headers, body: '{}' })).json).toBe('session');
    const { cookie: _, ...withoutCookie } = headers;
    expect((await send('POST', '/graphql', { headers: withoutCookie, body: '{}' })).status).toBe(401);
  });

  it.each([
    ['https://jobs.example.com/', '__Host-jobferry', 'https://jobs.example.com', 200],
    ['https://jobs.example.com/', '__Host-jobferry', 'http://jobs.example.com', 401],
    ['https://jobs.example.com/', '__Host-jobferry', 'https://jobs.example.com:8443', 401],
    ['https://jobs.example.com/', 'jobferry', 'https://jobs.example.com', 401],
    ['https://example.com/jobferry/', '__Secure-jobferry', 'https://example.com', 200],
    ['https://example.com/jobferry/', '__Host-jobferry', 'https://example.com', 401],
  ])('a session at %s in the cookie %s from %s is answered with %i', async (address, name, origin, status) => {
    const { send } = await signInApi(address);
    const headers = { ...withoutKey, cookie: `${name}=${TOKEN}`, 'jobferry-dashboard': '1', origin };
    expect((await send('POST', '/graphql', { headers, body: '{}' })).status).toBe(status);
  });
});

describe('a foreign site cannot use a session', () => {
  const FOREIGN: [name: string, headers: Sent['headers']][] = [
    ['a foreign Origin', { origin: 'https://evil.example', 'jobferry-dashboard': '1' }],
    ['an Origin without a name', { origin: 'null', 'jobferry-dashboard': '1' }],
    ['an Origin whose name begins alike', { origin: 'http://127.0.0.1.evil.example', 'jobferry-dashboard': '1' }],
    ['another port', { origin: 'http://127.0.0.1:1', 'jobferry-dashboard': '1' }],
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'jobferry-dashboard': '1' }],
    ['a page of a sister domain', { 'sec-fetch-site': 'same-site', 'jobferry-dashboard': '1' }],
    ['an address typed by hand', { 'sec-fetch-site': 'none', 'jobferry-dashboard': '1' }],
    ['no header', {}],
    ['another value of the header', { 'jobferry-dashboard': 'true' }],
  ];

  it.each(FOREIGN)('a foreign site cannot use a session for GraphQL: %s', async (_name, foreign) => {
    const { send, url } = await signInApi();
    const headers = { ...withoutKey, cookie: `jobferry-${url.port}=${TOKEN}`, ...foreign };
    expect((await send('POST', '/graphql', { headers, body: '{}' })).status).toBe(401);
  });

  it.each(FOREIGN.filter(([, headers]) => headers?.origin !== undefined || headers?.['sec-fetch-site'] !== undefined))(
    'a foreign site cannot sign in or out: %s',
    async (_name, headers) => {
      const { post, send, url } = await signInApi();
      expect(await post({ apiKey: KEY }, headers)).toMatchObject({ status: 403 });
      const cookie = `jobferry-${url.port}=${TOKEN}`;
      expect(await send('DELETE', '/session', { headers: { ...withoutKey, cookie, ...headers } })).toMatchObject({
        status: 403,
      });
      expect((await send('GET', '/session', { headers: { ...withoutKey, cookie } })).json.signedIn).toBe(true);
    },
  );

  it.each(['application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain', undefined])(
    'a foreign site cannot use a session with a form of the type %s',
    async (type) => {
      const { post, send, url, host } = await signInApi();
      const form = { 'content-type': type, origin: `http://${host}` };
      expect((await post({ apiKey: KEY }, form)).status).toBe(415);
      const headers = { ...withoutKey, ...form, cookie: `jobferry-${url.port}=${TOKEN}` };
      expect((await send('POST', '/graphql', { headers, body: '{}' })).status).toBe(401);
    },
  );

  it('a foreign site cannot use a session with GET or a preflight', async () => {
    const { send, url } = await signInApi();
    const headers = { ...withoutKey, cookie: `jobferry-${url.port}=${TOKEN}`, 'jobferry-dashboard': '1' };
    expect((await send('GET', '/graphql?query=mutation%7Ba%7D', { headers })).status).toBe(405);
    const asked = { ...headers, origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const path of ['/graphql', '/session']) {
      const answer = await send('OPTIONS', path, { headers: asked });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    }
  });
});

describe('failed sign-ins', () => {
  it('failed sign-ins with a provider fill no log', async () => {
    const lines: string[] = [];
    const log = createLog({ level: 'info' }, { write: (line) => lines.push(line) });
    const isDown = () =>
      Promise.reject(new SignInFailure('provider_unavailable', 'down', new Error('id_token=secret')));
    const oidc = { name: 'id.example.com', people: { begin: isDown, finish: notHere }, log };
    const { send } = await signInApi('http://localhost/', { oidc });
    for (const path of ['/session/oidc', '/session/oidc/callback?code=1']) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => send('GET', path, { headers: withoutKey })));
      expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(302));
    }
    const codes = lines.map((line) => (JSON.parse(line) as { code: string }).code);
    expect(codes.filter((code) => code === 'provider_unavailable')).toHaveLength(5);
    expect(codes.filter((code) => code === 'expired')).toHaveLength(5);
    expect(lines.filter((line) => line.includes('secret'))).toEqual([]);
  });

  it('are counted for a minute, by IPv4 address or IPv6 network', () => {
    let now = 0;
    const failed = new FailedSignIns(() => now);
    const fail = (address: string) => failed.add(address);
    for (let n = 0; n < 20; n += 1) fail(`2001:db8:1:2::${n}`);
    for (let n = 0; n < 20; n += 1) fail('::ffff:10.0.0.1');
    now = 10_500;
    expect(failed.begin('2001:db8:1:2:aaaa:bbbb:cccc:dddd')).toBe(50);
    expect(failed.begin('2001:db8:1:3::1')).toBe(0);
    expect([failed.begin('::ffff:10.0.0.1'), failed.begin('::ffff:10.0.0.2')]).toEqual([50, 0]);
    now = 60_000;
    expect(failed.begin('::ffff:10.0.0.1')).toBe(0);
  });

  it('are remembered for a bounded number of addresses', () => {
    const failed = new FailedSignIns(() => 0);
    for (let n = 0; n < 20; n += 1) failed.add('10.0.0.1');
    for (let n = 0; n < 10_000; n += 1) failed.add(`10.1.${n >> 8}.${n & 255}`);
    expect(failed.begin('10.0.0.1')).toBe(0);
  });
});
