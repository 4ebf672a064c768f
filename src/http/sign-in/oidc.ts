import type { Express, Request, Response } from 'express';
import { OWN_PATHS } from '../../domain/paths.ts';
import { type PendingSignIn, SignInFailure, type SignInFailureCode } from '../../services/oidc/provider.ts';
import { HttpRefusal } from '../errors.ts';
import { clientAddress } from '../server/client-address.ts';
import { cookieIn, pendingCookie, setCookie } from './cookies.ts';
import { FailedSignIns } from './failed-sign-ins.ts';
import { type OidcSignIn, type SignIn, setSession, userAgentOf } from './sign-in.ts';

/** Time for which a sign-in that has begun can be completed. */
const PENDING_SECONDS = 600;
const MAX_PATH = 1500;
/**
 * Failures about which the provider was asked, and that are not its own.
 * It is not asked about `refused`, which a browser can claim.
 */
const COUNTED: ReadonlySet<SignInFailureCode> = new Set(['invalid', 'no_role', 'too_many_members']);

/** The content of the cookie of a sign-in that has begun. */
interface Pending extends PendingSignIn {
  /** Path in the dashboard to which the person goes afterwards. */
  to: string;
  /** Milliseconds since the epoch. */
  until: number;
}

/** `session/oidc` sends the browser to the provider, `session/oidc/callback` receives it back. */
export function mountOidc(app: Express, signIn: SignIn, oidc: OidcSignIn): void {
  // Not those of keys: behind a proxy, wrong keys must not keep people from the provider.
  const failed = new FailedSignIns();
  const { url: address } = signIn.address;
  if (address === null) throw new Error('signing in with OpenID Connect needs PUBLIC_URL');
  // With https there is a proxy. If it is not trusted, all people have its address, and a stranger could lock them out.
  // Codes cannot be guessed, so only the load is bounded, which `MAX_EXCHANGES` does as well.
  const isCounted = address.protocol !== 'https:' || !signIn.trustedProxies.isEmpty;
  const redirect = (res: Response, to: URL) => {
    res.setHeader('location', to.href);
    res.setHeader('referrer-policy', 'no-referrer');
    res.status(302).end();
  };
  const fail = (res: Response, code: SignInFailureCode, to: string) => {
    const page = new URL('sign-in', address);
    page.searchParams.set('error', code);
    if (to !== '/') page.searchParams.set('to', to);
    redirect(res, page);
  };
  const failWith = (res: Response, error: unknown, to: string) => {
    if (!(error instanceof SignInFailure)) throw error;
    const { code, message } = error;
    // Anyone can cause such lines. As an error, equal ones are left out; without its cause, which may contain tokens.
    oidc.log.warn({ code, err: new SignInFailure(code, message) }, 'a sign-in with the OpenID provider failed');
    fail(res, code, to);
  };

  app.get('/session/oidc', (req, res, next) => {
    const to = localPath(new URL(req.url, address).searchParams.get('to'));
    oidc.people
      .begin()
      .then(({ url, pending }) => {
        const content: Pending = { ...pending, to, until: Date.now() + PENDING_SECONDS * 1000 };
        res.setHeader('set-cookie', setCookie(pendingCookie(req, signIn.address), encode(content), PENDING_SECONDS));
        redirect(res, url);
      })
      .catch((error: unknown) => failWith(res, error, to))
      .catch(next);
  });

  app.get('/session/oidc/callback', (req, res, next) => {
    const cookie = pendingCookie(req, signIn.address);
    const pending = decode(cookieIn(req, cookie.name));
    // An answer of the provider can be used once.
    res.setHeader('set-cookie', setCookie(cookie, '', 0));
    const to = pending?.to ?? '/';
    const client = clientAddress(req, signIn.trustedProxies);
    if (isCounted && failed.begin(client) > 0) {
      fail(res, 'too_many_failures', to);
      return;
    }
    receive(req, res, pending)
      .finally(() => isCounted && failed.end(client))
      .then(() => redirect(res, inDashboard(to, address)))
      .catch((error: unknown) => {
        if (isCounted && error instanceof SignInFailure && COUNTED.has(error.code)) failed.add(client);
        failWith(res, error, to);
      })
      .catch(next);
  });

  app.all(['/session/oidc', '/session/oidc/callback'], (_req, res, next) => {
    res.setHeader('allow', 'GET');
    next(new HttpRefusal(405, 'use GET'));
  });

  async function receive(req: Request, res: Response, pending: Pending | null): Promise<void> {
    if (address === null || pending === null) {
      throw new SignInFailure('expired', 'the browser has no sign-in that began less than ten minutes ago');
    }
    const answered = new URL('session/oidc/callback', address);
    answered.search = new URL(req.url, address).search;
    if (answered.searchParams.get('state') !== pending.state) {
      throw new SignInFailure('expired', 'the state is not that of the sign-in that began last in this browser');
    }
    await setSession(req, res, signIn, await oidc.people.finish(answered, pending, userAgentOf(req)));
  }
}

/**
 * Returns a path of the dashboard, from its base path; `/` for everything else, so that no link to this server leads to
 * another one.
 */
export function localPath(to: string | null): string {
  // Browsers read a backslash as a slash, and ignore line breaks and tabs.
  if (to === null || to.length > MAX_PATH || !/^\/(?!\/)[^\\\p{Cc}]*$/u.test(to)) return '/';
  const { pathname, search, hash } = new URL(to, 'http://localhost');
  // Dots may have been resolved to an address without a scheme.
  if (pathname.startsWith('//') || OWN_PATHS.includes(pathname.split('/')[1] ?? '')) return '/';
  return pathname + search + hash;
}

function inDashboard(path: string, address: URL): URL {
  return new URL(`${address.origin}${address.pathname.slice(0, -1)}${path}`);
}

function encode(pending: Pending): string {
  return Buffer.from(JSON.stringify(pending)).toString('base64url');
}

/** The cookie is the browser's, so it may contain anything. */
function decode(text: string | null): Pending | null {
  if (text === null) return null;
  try {
    const pending = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Pending | null;
    const { state, nonce, verifier, to, until } = pending ?? {};
    const isWhole = [state, nonce, verifier, to].every((value) => typeof value === 'string' && value !== '');
    if (pending === null || !isWhole || typeof until !== 'number' || until < Date.now()) return null;
    return { ...pending, to: localPath(pending.to) };
  } catch {
    return null;
  }
}
