import type { IncomingMessage } from 'node:http';
import { basePathOf, type PublicAddress } from './public-address.ts';

/** A cookie of this server, except for its value. */
interface Cookie {
  name: string;
  path: string;
  isSecure: boolean;
  sameSite: 'Strict' | 'Lax';
}

/**
 * The cookie of a session. Over https and without a path prefix its name begins with `__Host-`: browsers accept such a
 * cookie from this host only. Under a path prefix it begins with `__Secure-` and has that path, so that other programs
 * on the host do not receive it. Browsers ignore ports, so the name has the port.
 */
export function sessionCookie(req: IncomingMessage, address: PublicAddress): Cookie {
  const isSecure = isHttps(req, address);
  const path = basePathOf(address);
  const prefix = isSecure ? (path === '/' ? '__Host-' : '__Secure-') : '';
  return { name: `${prefix}jobferry${portOf(req, address)}`, path, isSecure, sameSite: 'Strict' };
}

/**
 * The cookie of a sign-in with the OpenID provider. It is `Lax`, because the browser brings it along when the provider
 * sends it back. It is of no use to other programs on the host, so it has the name that no other host can set.
 */
export function pendingCookie(req: IncomingMessage, address: PublicAddress): Cookie {
  const isSecure = isHttps(req, address);
  const name = `${isSecure ? '__Host-' : ''}jobferry-oidc${portOf(req, address)}`;
  return { name, path: '/', isSecure, sameSite: 'Lax' };
}

/** Returns the session's token in the request; null if there is none. */
export function sessionTokenIn(req: IncomingMessage, address: PublicAddress): string | null {
  const port = portOf(req, address);
  // Without PUBLIC_URL, a request without an Origin does not reveal whether the page is https.
  const names =
    address.url === null ? [`__Host-jobferry${port}`, `jobferry${port}`] : [sessionCookie(req, address).name];
  for (const name of names) {
    const value = cookieIn(req, name);
    if (value !== null) return value;
  }
  return null;
}

export function cookieIn({ headers }: IncomingMessage, name: string): string | null {
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [key = '', ...value] = pair.split('=');
    if (key.trim() === name) return value.join('=').trim();
  }
  return null;
}

/** Returns the content of a Set-Cookie header. A `maxAge` of 0 seconds removes the cookie. */
export function setCookie({ name, path, isSecure, sameSite }: Cookie, value: string, maxAge: number): string {
  const secure = isSecure ? '; Secure' : '';
  return `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}${secure}`;
}

function isHttps({ headers }: IncomingMessage, { url }: PublicAddress): boolean {
  return url === null ? headers.origin?.startsWith('https://') === true : url.protocol === 'https:';
}

function portOf({ headers }: IncomingMessage, { url }: PublicAddress): string {
  const port = url === null ? (/:(\d{1,5})$/.exec(headers.host ?? '')?.[1] ?? '') : url.port;
  return port === '' ? '' : `-${port}`;
}
