import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGraphQLClient } from '../support/graphql.ts';
import { Browser, CLIENT, type IdentityProvider } from '../support/identity-provider.ts';
import { type OidcService, startWithProvider } from '../support/oidc-service.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

/** Signing in with a real OpenID provider, and everything that can be wrong about it. */

const KEY = 'key-of-the-bootstrap-account';
const ROLES = {
  groups: { support: 'viewer', ops: 'operator+payloads', admins: 'admin' },
};

let service: OidcService;
let databaseUrl: string;
let idp: IdentityProvider;
let jobferry: Jobferry;
let env: Record<string, string>;
let address: string;

beforeAll(async () => {
  service = await startWithProvider({ BOOTSTRAP_API_KEY: KEY, OIDC_ROLES: JSON.stringify(ROLES) });
  ({ databaseUrl, idp, jobferry, env, address } = service);
});

const ADA = { sub: 'ada', name: 'Ada', email: 'ada@example.com', email_verified: true };

beforeEach(() => {
  idp.person = { ...ADA, groups: ['ops'] };
  idp.forge = null;
  idp.refuse = false;
});

const isAtProvider = (url: URL) => url.origin === idp.issuer;
const answerOfProvider: OidcService['answerOfProvider'] = (...input) => service.answerOfProvider(...input);
const signIn: OidcService['signIn'] = (...input) => service.signIn(...input);
const isSignedIn: OidcService['isSignedIn'] = (browser) => service.isSignedIn(browser);
const graphqlOf: OidcService['graphqlOf'] = (browser) => service.graphqlOf(browser);
const failed: OidcService['failed'] = (code) => service.failed(code);

const ME = '{ me { label role mayViewPayloads person { name email } account { name } } }';

describe('a person', () => {
  it('signs in, and comes back to where it wanted to go', async () => {
    const { browser, at } = await signIn(new Browser(), '/jobs?q=state%3Adead');
    expect(at).toBe(`${address}jobs?q=state%3Adead`);
    expect((await graphqlOf(browser).query(ME)).me).toEqual({
      label: 'ada@example.com',
      role: 'OPERATOR',
      mayViewPayloads: true,
      person: { name: 'Ada', email: 'ada@example.com' },
      account: { name: 'default' },
    });
    const { methods } = JSON.parse((await browser.get(`${address}session`)).text);
    expect(methods).toEqual({ apiKey: true, oidc: { name: '127.0.0.1' } });
  });

  it('is sent to the provider with PKCE, state and nonce, and gets two cookies in turn', async () => {
    const browser = new Browser();
    const { location, headers } = await browser.get(`${address}session/oidc`);
    const sent = Object.fromEntries(location?.searchParams ?? []);
    expect(sent).toMatchObject({
      client_id: CLIENT.id,
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${address}session/oidc/callback`,
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(headers.get('set-cookie')).toMatch(
      /^jobferry-oidc-\d+=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
    const back = await browser.get(await browser.follow(location ?? new URL(address), isAtProvider));
    expect(back.headers.getSetCookie()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^jobferry-oidc-\d+=; Path=\/; Max-Age=0;/),
        expect.stringMatching(/^jobferry-\d+=jfs_[\w-]{43}; Path=\/jobs-ui\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/),
      ]),
    );
  });

  it('is one member, however often it signs in, and its sign-ins are audited', async () => {
    idp.person = { sub: 'often', email: 'often@example.com', groups: ['admins'] };
    const first = await signIn();
    const second = await signIn();
    expect(await isSignedIn(first.browser)).toBe(true);
    const { members, auditLog } = await graphqlOf(second.browser).query(
      '{ members { nodes { id subject issuer role } } auditLog(first: 3) { nodes { action actor targetName } } }',
    );
    const own = members.nodes.filter(({ subject }: { subject: string }) => subject === 'often');
    expect(own).toEqual([{ id: expect.any(String), subject: 'often', issuer: `${idp.issuer}/`, role: 'ADMIN' }]);
    const by = { actor: 'often@example.com', targetName: 'often@example.com' };
    expect(auditLog.nodes).toEqual([
      { action: 'session.create', ...by },
      { action: 'session.create', ...by },
      { action: 'member.create', ...by },
    ]);
  });

  it('a person without a role is refused, in words', async () => {
    for (const groups of [['others'], undefined]) {
      idp.person = { sub: 'stranger', groups };
      const { browser, at } = await signIn(new Browser(), '/jobs');
      expect(at).toBe(`${failed('no_role')}&to=%2Fjobs`);
      expect(await isSignedIn(browser)).toBe(false);
    }
    expect(jobferry.logs.find(({ code }) => code === 'no_role')).toMatchObject({
      level: 'warn',
      err: { message: 'OIDC_ROLES grants no role to stranger; it looks at the claim groups' },
    });
  });

  it('a person that cancels at the provider comes back with a reason', async () => {
    idp.refuse = true;
    expect((await signIn()).at).toBe(failed('refused'));
  });
});

describe('a token', () => {
  it.each<[name: string, forge: (token: string) => string]>([
    ['with another signature', (token) => `${token.slice(0, -20)}${'A'.repeat(20)}`],
    ['of another person', (token) => withClaims(token, { sub: 'boss' })],
    ['without a signature', (token) => `${algorithmNone(token)}.`],
    ['that has expired', (token) => idp.sign({ exp: Math.floor(Date.now() / 1000) - 3600 }, token)],
    ['of another issuer', (token) => idp.sign({ iss: 'https://evil.example' }, token)],
    ['for another client', (token) => idp.sign({ aud: 'another' }, token)],
    ['with another nonce', (token) => idp.sign({ nonce: 'another' }, token)],
    ['without a nonce', (token) => idp.sign({ nonce: undefined }, token)],
    ['that is no token', () => 'x'],
  ])('a token %s is refused', async (_name, forge) => {
    idp.forge = forge;
    const { browser, at } = await signIn();
    expect(at).toBe(failed('invalid'));
    expect(await isSignedIn(browser)).toBe(false);
  });

  it('a token that is only signed again is accepted, so the refusals have other reasons', async () => {
    idp.forge = (token) => idp.sign({}, token);
    expect((await signIn()).at).toBe(address);
  });

  function withClaims(token: string, claims: object): string {
    const [header, payload = '', signature] = token.split('.');
    const changed = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), ...claims };
    return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
  }

  function algorithmNone(token: string): string {
    const [, payload] = token.split('.');
    return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}`;
  }
});

describe('the way back from the provider', () => {
  it('works once', async () => {
    const browser = new Browser();
    const answered = await answerOfProvider(browser);
    const cookie = browser.cookieOf(address);
    expect((await browser.get(answered)).location?.href).toBe(address);
    // Without the cookie, and with it: the code was used.
    expect((await browser.get(answered)).location?.href).toBe(failed('expired'));
    const thief = new Browser();
    expect((await thief.get(answered, { cookie })).location?.href).toBe(failed('invalid'));
    expect(await isSignedIn(thief)).toBe(false);
  });

  it('is of use only in the browser that went there', async () => {
    const answered = await answerOfProvider(new Browser());
    const other = new Browser();
    expect((await other.get(answered)).location?.href).toBe(failed('expired'));
    await other.get(`${address}session/oidc`);
    expect((await other.get(answered)).location?.href).toBe(failed('expired'));
    expect(await isSignedIn(other)).toBe(false);
  });

  it.each<[name: string, change: (pending: Record<string, unknown>) => void, code: string]>([
    ['state', (pending) => Object.assign(pending, { state: 'x' }), 'expired'],
    ['nonce', (pending) => Object.assign(pending, { nonce: 'x' }), 'invalid'],
    ['verifier', (pending) => Object.assign(pending, { verifier: 'x'.repeat(43) }), 'invalid'],
    ['time', (pending) => Object.assign(pending, { until: Date.now() - 1 }), 'expired'],
  ])('is refused with another %s', async (_name, change, code) => {
    const browser = new Browser();
    const answered = await answerOfProvider(browser);
    browser.change(address, /oidc/, (present) => {
      const pending = JSON.parse(Buffer.from(present, 'base64url').toString()) as Record<string, unknown>;
      change(pending);
      return Buffer.from(JSON.stringify(pending)).toString('base64url');
    });
    expect((await browser.get(answered)).location?.href).toBe(failed(code));
  });

  it('never leads to another server', async () => {
    const browser = new Browser();
    expect((await signIn(browser, '//evil.example/')).at).toBe(address);
    const answered = await answerOfProvider(browser, '/jobs');
    browser.change(address, /oidc/, (present) => {
      const pending = JSON.parse(Buffer.from(present, 'base64url').toString());
      return Buffer.from(JSON.stringify({ ...pending, to: '//evil.example' })).toString('base64url');
    });
    expect((await browser.get(answered)).location?.href).toBe(address);
  });

  it('nonsense on the way back from the provider is an error for people', async () => {
    for (const query of ['', '?', '?code=x', '?state=x', '?code=x&state=x', '?error=access_denied']) {
      const { status, location } = await new Browser().get(`${address}session/oidc/callback${query}`);
      expect([status, location?.href]).toEqual([302, failed('expired')]);
    }
  });
});

it('a provider that is down is an error for people, and the next try works when it is back', async () => {
  const other = await startJobferry({ databaseUrl, role: 'api', env: { ...env, PORT: '0' } });
  const start = `${other.baseUrl}/session/oidc?to=/jobs`;
  await idp.stop();
  const down = await new Browser().get(start);
  expect([down.status, down.location?.href]).toEqual([302, `${failed('provider_unavailable')}&to=%2Fjobs`]);
  expect(other.logs.find(({ code }) => code === 'provider_unavailable')).toMatchObject({
    err: { message: expect.stringMatching(/cannot be read: .*ECONNREFUSED/) },
  });
  // A process that has the provider's metadata fails later, at the exchange of the code.
  const browser = new Browser();
  await idp.start();
  const answered = await answerOfProvider(browser);
  await idp.stop();
  expect((await browser.get(answered)).location?.href).toBe(failed('provider_unavailable'));
  await idp.start();
  await waitFor(async () => (await new Browser().get(start)).location?.origin === idp.issuer);
  await other.kill();
});

it('reads the metadata of the provider once, however many people sign in', async () => {
  const before = idp.asked.filter((path) => path === '/.well-known/openid-configuration').length;
  await Promise.all(Array.from({ length: 5 }, () => signIn()));
  expect(idp.asked.filter((path) => path === '/.well-known/openid-configuration')).toHaveLength(before);
});

it('OIDC_ONLY leaves no other way in', async () => {
  const key = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ apiKey: KEY }),
  };
  const kept = await fetch(`${address}session`, key);
  const cookie = kept.headers.get('set-cookie')?.split(';')[0] ?? '';
  const only = await startJobferry({ databaseUrl, role: 'api', env: { ...env, PORT: '0', OIDC_ONLY: '1' } });
  expect((await fetch(`${only.baseUrl}/session`, key)).status).toBe(403);
  const { signedIn, methods } = (await (await fetch(`${only.baseUrl}/session`, { headers: { cookie } })).json()) as {
    signedIn: boolean;
    methods: object;
  };
  expect([signedIn, methods]).toEqual([false, { apiKey: false, oidc: { name: '127.0.0.1' } }]);
  // API keys still work for programs.
  expect((await createGraphQLClient(only.baseUrl, KEY).query('{ me { role } }')).me.role).toBe('ADMIN');
  await only.kill();
});

it('logs contain neither secrets, nor codes, nor tokens', () => {
  const text = JSON.stringify([jobferry.logs, jobferry.output]);
  expect(text).not.toContain(CLIENT.secret);
  expect(text).not.toMatch(/eyJ[\w-]+\.|jfs_[\w-]{43}|[?&]code=/);
});
