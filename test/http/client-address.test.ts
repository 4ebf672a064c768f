import { type IncomingHttpHeaders, IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { TrustedProxies } from '../../src/http/index.ts';
import { clientAddress } from '../../src/http/server/client-address.ts';
import { SignInFailure } from '../../src/services/oidc/provider.ts';
import { testApi } from '../support/fake-api.ts';
import { KEY } from '../support/fake-services.ts';
import { fakeSignIn } from '../support/fake-sign-in.ts';
import { startPathProxy } from '../support/path-proxy.ts';

const TRUSTED = new TrustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);

function addressOf(peer: string | undefined, forwarded: string | undefined, trusted = TRUSTED): string {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: peer });
  const req = new IncomingMessage(socket);
  if (forwarded !== undefined) req.headers['x-forwarded-for'] = forwarded;
  return clientAddress(req, trusted);
}

describe('the address of a client', () => {
  it('is that which the proxy at the unix socket names, if this proxy is trusted', () => {
    expect(addressOf(undefined, '203.0.113.5', new TrustedProxies(['unix:']))).toBe('203.0.113.5');
    expect(addressOf(undefined, '203.0.113.5, 10.0.0.1', new TrustedProxies(['unix:', '10.0.0.1']))).toBe(
      '203.0.113.5',
    );
    expect(addressOf(undefined, '203.0.113.5')).toBe('');
    expect(addressOf('203.0.113.6', '203.0.113.5', new TrustedProxies(['unix:']))).toBe('203.0.113.6');
  });

  it.each([
    ['connects directly', '203.0.113.5', undefined, '203.0.113.5'],
    ['connects directly, and invents a header', '203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['connects directly, and names a proxy', '203.0.113.5', '198.51.100.1, 10.0.0.1', '203.0.113.5'],
    ['comes by a proxy', '10.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['comes by two proxies', '10.0.0.1', '203.0.113.5, 192.0.2.7', '203.0.113.5'],
    ['comes by a proxy, and invents an address', '10.0.0.1', '198.51.100.1, 203.0.113.5', '203.0.113.5'],
    ['comes by a proxy, and invents a proxy', '10.0.0.1', '198.51.100.1, 10.9.9.9, 203.0.113.5', '203.0.113.5'],
    ['comes by a proxy that is not trusted', '10.0.0.1', '203.0.113.5, 192.0.2.8', '192.0.2.8'],
    ['is a proxy itself', '10.0.0.1', undefined, '10.0.0.1'],
    ['is within the trusted network', '10.0.0.1', '10.1.2.3', '10.1.2.3'],
    ['comes by a proxy that connects by IPv6', '::ffff:10.0.0.1', '203.0.113.5', '203.0.113.5'],
    ['has an IPv6 address', 'fd00::1', '2001:db8::5', '2001:db8::5'],
    ['comes by a proxy that adds the port', '10.0.0.1', '203.0.113.5:4711', '203.0.113.5'],
    ['comes by a proxy that adds the port to IPv6', '10.0.0.1', '[2001:db8::5]:4711', '2001:db8::5'],
    ['comes by a proxy that hides it', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['comes by a proxy that hides it, and invents an address', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['sends an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['has a zone', 'fe80::1%eth0', '198.51.100.1', 'fe80::1'],
    ['has gone', '', '198.51.100.1', ''],
  ])('the address of a client that %s is the right one', (_name, peer, forwarded, expected) => {
    expect(addressOf(peer, forwarded)).toBe(expected);
  });

  it('is that of the connection, unless proxies are configured', () => {
    expect(addressOf('10.0.0.1', '203.0.113.5', new TrustedProxies([]))).toBe('10.0.0.1');
  });
});

// Only Linux has other addresses of this machine than 127.0.0.1 without set-up.
describe.skipIf(process.platform !== 'linux')('failed sign-ins behind a proxy', () => {
  const [ADA, BOB] = ['127.0.0.2', '127.0.0.3'];
  /** Not of Jobferry's form, so it may be a guess. */
  const ANOTHER = 'another-wrong-key';

  async function behindProxy(proxies: string[]) {
    const api = await testApi({ signIn: fakeSignIn({ trustedProxies: new TrustedProxies(proxies) }) });
    const proxy = await startPathProxy('/', { removes: false });
    proxy.pointTo(api.url.href);
    return { url: new URL('session', proxy.url), directly: new URL('session', api.url) };
  }

  it('are counted for the proxy, as long as it is not trusted', async () => {
    const { url } = await behindProxy([]);
    await sendWrongKeys(url, ADA);
    expect(await signIn(url, BOB, ANOTHER)).toBe(429);
    // Not guessed, so others do not keep people with such a key from signing in.
    expect(await signIn(url, BOB, KEY)).toBe(204);
  });

  it('failed sign-ins of one person do not block another, if the proxy is trusted', async () => {
    const { url } = await behindProxy(['127.0.0.1']);
    await sendWrongKeys(url, ADA);
    expect(await signIn(url, ADA, ANOTHER)).toBe(429);
    expect(await signIn(url, BOB, ANOTHER)).toBe(401);
  });

  it('cannot be spread over invented addresses, or laid to another person', async () => {
    const { url, directly } = await behindProxy(['127.0.0.1']);
    await sendWrongKeys(url, ADA, (n) => `198.51.100.${n}`);
    expect(await signIn(url, ADA, ANOTHER, '198.51.100.99')).toBe(429);
    expect(await signIn(url, ADA, ANOTHER, `${BOB}, 127.0.0.1`)).toBe(429);
    expect(await signIn(directly, ADA, ANOTHER, BOB)).toBe(429);
    expect(await signIn(url, BOB, ANOTHER)).toBe(401);
  });
});

// Only the count of failures is of interest here; test/e2e/oidc.test.ts has a real provider.
describe.skipIf(process.platform !== 'linux')('failed sign-ins with the provider behind a proxy', () => {
  async function behindProxy(publicUrl: string, proxies: string[]) {
    const refuse = () => Promise.reject(new SignInFailure('no_role', 'the provider knows the person'));
    const oidc = { name: 'id.example.com', people: { begin: refuse, finish: refuse }, log: { warn: () => undefined } };
    const address = { url: new URL(publicUrl) };
    const trustedProxies = new TrustedProxies(proxies);
    const api = await testApi({ signIn: fakeSignIn({ address, oidc, trustedProxies }) });
    const proxy = await startPathProxy('/', { removes: false });
    proxy.pointTo(api.url.href);
    const until = Date.now() + 60_000;
    const pending = JSON.stringify({ state: 's', nonce: 'n', verifier: 'v', to: '/', until });
    const name = address.url.protocol === 'https:' ? '__Host-jobferry-oidc' : 'jobferry-oidc-8080';
    const cookie = `${name}=${Buffer.from(pending).toString('base64url')}`;
    return async (from: string, forwarded: string) => {
      const url = new URL('session/oidc/callback?state=s', proxy.url);
      const { headers } = await send(url, from, { method: 'GET', headers: { cookie, 'x-forwarded-for': forwarded } });
      return new URL(headers.location ?? '').searchParams.get('error');
    };
  }

  it('are counted by the client that the trusted proxy names', async () => {
    const comeBack = await behindProxy('http://localhost:8080/', ['127.0.0.1']);
    for (let n = 0; n < 20; n += 1) expect(await comeBack('127.0.0.2', `198.51.100.${n}`)).toBe('no_role');
    expect(await comeBack('127.0.0.2', '198.51.100.99')).toBe('too_many_failures');
    expect(await comeBack('127.0.0.3', '127.0.0.2')).toBe('no_role');
  });

  it('are not counted, if all people have the address of the proxy', async () => {
    const comeBack = await behindProxy('https://jobs.example.com/', []);
    for (let n = 0; n < 25; n += 1) expect(await comeBack('127.0.0.2', '198.51.100.1')).toBe('no_role');
  });
});

/** As many as are allowed in a minute, with the headers that `forged` invents. */
async function sendWrongKeys(url: URL, from: string, forged: (n: number) => string | undefined = () => undefined) {
  for (let n = 0; n < 20; n += 1) expect(await signIn(url, from, 'a-wrong-key', forged(n))).toBe(401);
}

/** @returns the status of the answer */
async function signIn(url: URL, from: string, apiKey: string, forwarded?: string): Promise<number> {
  const body = JSON.stringify({ apiKey });
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
  };
  return (await send(url, from, { method: 'POST', headers, body })).status;
}

interface Sent {
  method: string;
  headers: OutgoingHttpHeaders;
  body?: string;
}

/** Sends a request from another address of this machine. */
function send({ hostname, port, pathname, search }: URL, from: string, { method, headers, body }: Sent) {
  return new Promise<{ status: number; headers: IncomingHttpHeaders }>((resolve, reject) => {
    const path = pathname + search;
    const req = request({ hostname, port, path, method, headers, localAddress: from, agent: false });
    req.once('error', reject);
    req.once('response', (res) => {
      res.resume();
      res.once('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers }));
    });
    req.end(body);
  });
}
