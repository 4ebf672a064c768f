import { createPrivateKey, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { afterAll } from 'vitest';

/** A real OpenID provider, in which a test decides who signs in, and what may go wrong. */
export interface IdentityProvider {
  issuer: string;
  /** The person who signs in next, with the claims. */
  person: { sub: string } & Record<string, unknown>;
  /** Refuses the next sign-in, as when the person cancels. */
  refuse: boolean;
  /** Changes the ID token on its way; null leaves it alone. */
  forge: ((token: string) => string) | null;
  /** Paths of the requests that came from servers, not browsers. */
  asked: string[];
  /** Signs claims as the provider does. */
  sign(claims: object, token: string): string;
  /** Accepts no connections any more, and drops those that are open. */
  stop(): Promise<void>;
  /** Listens again under the same address. */
  start(): Promise<void>;
}

export const CLIENT = { id: 'jobferry', secret: 'secret-of-the-client' };

/** @param redirectUris to which it may send browsers back */
export async function startIdentityProvider(redirectUris: string[]): Promise<IdentityProvider> {
  let answer: RequestListener = (_req, res) => res.writeHead(503).end();
  let server = createServer((req, res) => answer(req, res));
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  const idp: IdentityProvider = {
    issuer,
    person: { sub: 'ada' },
    refuse: false,
    forge: null,
    asked: [],
    sign: (claims, token) => signed(privateKey, claims, token),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    async start() {
      server = createServer((req, res) => answer(req, res));
      await listen(server, port);
    },
  };
  const provider = createProvider(idp, redirectUris, privateKey);
  const callback = provider.callback();
  answer = (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? '';
    idp.asked.push(path);
    if (path.startsWith('/interaction')) void interact(provider, idp, req, res);
    else if (path === '/token' && idp.forge !== null) forging(idp.forge, callback, req, res);
    else callback(req, res);
  };
  afterAll(() => idp.stop());
  return idp;
}

function createProvider(idp: IdentityProvider, redirectUris: string[], privateKey: KeyObject): Provider {
  const provider: Provider = new Provider(idp.issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: redirectUris,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'one' }] },
    features: { devInteractions: { enabled: false } },
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'] },
    pkce: { required: () => true },
    cookies: { keys: ['key-of-the-cookies'] },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    ttl: { Interaction: 60, Session: 60, Grant: 60, IdToken: 60, AccessToken: 60 },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: async () => ({ ...idp.person, sub: accountId }),
    }),
    // The client gets the claims without asking the person for consent.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new provider.Grant({ clientId: CLIENT.id, accountId: oidc.session?.accountId });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

async function interact(provider: Provider, idp: IdentityProvider, req: IncomingMessage, res: ServerResponse) {
  const refused = { error: 'access_denied', error_description: 'the person has cancelled' };
  const result = idp.refuse ? refused : { login: { accountId: idp.person.sub } };
  await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false });
}

/** Passes the answer of the token endpoint on, with another ID token. */
function forging(
  forge: (token: string) => string,
  callback: RequestListener,
  req: IncomingMessage,
  res: ServerResponse,
) {
  const end = res.end.bind(res);
  res.end = ((chunk: unknown) => {
    const body = JSON.parse(String(chunk)) as { id_token?: string };
    if (body.id_token !== undefined) body.id_token = forge(body.id_token);
    const text = JSON.stringify(body);
    res.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as typeof res.end;
  callback(req, res);
}

/** Returns the token with other claims, and a signature of them that is valid. */
function signed(key: KeyObject, claims: object, token: string): string {
  const [header = '', payload = ''] = token.split('.');
  const present = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  const content = `${header}.${Buffer.from(JSON.stringify({ ...present, ...claims })).toString('base64url')}`;
  const signature = createSign('RSA-SHA256')
    .update(content)
    .sign(createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' })));
  return `${content}.${signature.toString('base64url')}`;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

interface Answered {
  status: number;
  location: URL | null;
  headers: Headers;
  text: string;
}

/** A browser that keeps cookies by host and port, and follows redirects only when told to. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async get(url: URL | string, headers: Record<string, string> = {}): Promise<Answered> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { ...headers, ...(cookie === '' ? {} : { cookie }) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', ...value] = pair.split('=');
      if (/max-age=0/i.test(line) || value.join('=') === '') jar.delete(name);
      else jar.set(name, value.join('='));
    }
    const location = response.headers.get('location');
    return {
      status: response.status,
      location: location === null ? null : new URL(location, url),
      headers: response.headers,
      text: await response.text(),
    };
  }

  /** Follows redirects while they lead to an address that meets the condition; returns the first that does not. */
  async follow(url: URL, condition: (url: URL) => boolean): Promise<URL> {
    let next = url;
    for (let steps = 0; condition(next); steps += 1) {
      const { location, status, text } = await this.get(next);
      if (location === null || steps > 10) throw new Error(`${next.href} answered ${status}: ${text.slice(0, 300)}`);
      next = location;
    }
    return next;
  }

  cookieOf(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Replaces the value of a cookie; does nothing if there is no such cookie. */
  change(url: string, name: RegExp, value: (present: string) => string): void {
    const jar = this.#cookies.get(new URL(url).host);
    for (const [key, present] of jar ?? []) if (name.test(key)) jar?.set(key, value(present));
  }
}
