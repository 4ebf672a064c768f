import type { IncomingMessage } from 'node:http';

/** The address under which browsers reach this server. */
export interface PublicAddress {
  /** From PUBLIC_URL, with a slash at its end; null if it is not set. */
  url: URL | null;
}

/** Path of the dashboard with a slash at its end: `/`, or the path of PUBLIC_URL. */
export function basePathOf({ url }: PublicAddress): string {
  return url?.pathname ?? '/';
}

/**
 * Whether a browser sent the request from a page of this server. A page of another site cannot fake these headers, and
 * a client that sends neither of them is no browser.
 */
export function isFromOwnPage({ headers }: IncomingMessage, { url }: PublicAddress): boolean {
  const { origin, host = '', 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined) return true;
  if (url !== null) return origin === url.origin;
  // The browser compares the host of the page with the host to which it sends the cookie,
  // so this need not know its name.
  return origin === `http://${host}` || origin === `https://${host}`;
}
