import { parsedUrl } from '../../../src/domain/parsed-url.ts';
import type { Fetch } from './fetch-function.ts';

/** A request to Jobferry. */
export interface Outgoing {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** JSON text; left out when the route has no body. */
  body?: string;
  signal?: AbortSignal | undefined;
}

/** An HTTP answer with its JSON body parsed. */
export interface Received {
  status: number;
  body: unknown;
  headers: Headers;
}

/** Statuses of temporary failures. 429: the operator limits requests, or a proxy does. */
export const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;

/** Sends one request. Needs neither ts-rest nor zod, because the webhook handlers use it, too. */
export async function exchange(fetch: Fetch, outgoing: Outgoing, timeoutMs: number): Promise<Received> {
  const { method, url, headers, body, signal } = outgoing;
  const limit = limitOf(timeoutMs, signal);
  try {
    const response = await fetch(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal: limit.signal,
      // Following a redirect would turn a POST into a GET. No route of the contract redirects.
      redirect: 'manual',
      ...uncached(),
    });
    const text = await response.text();
    return { status: response.status, body: parse(response, text), headers: response.headers };
  } finally {
    limit.end();
  }
}

let uncachedInit: { cache?: 'no-store' } | null = null;

/**
 * Next.js 14 would answer each GET from the first answer that it got. Runtimes without a cache may refuse the member,
 * as Workers of older compatibility dates do.
 */
function uncached(): { cache?: 'no-store' } {
  if (uncachedInit === null) {
    // The types of Node.js have no member `cache`.
    const init = { method: 'GET', cache: 'no-store' };
    try {
      new Request('http://localhost/', init as RequestInit);
      uncachedInit = { cache: 'no-store' };
    } catch {
      uncachedInit = {};
    }
  }
  return uncachedInit;
}

/** Timers fire at once when they are given more. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * A signal that is aborted after the time-out, or with `signal`. Not `AbortSignal.any` of an `AbortSignal.timeout`:
 * Node.js 20 loses such a time-out in a garbage collection, and keeps an entry in `signal` for each call.
 * `AbortSignal.timeout` also throws for a fraction of a millisecond.
 */
function limitOf(timeoutMs: number, signal: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const aborter = new AbortController();
  const stop = () => aborter.abort(signal?.reason);
  const timer = setTimeout(
    () => aborter.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError')),
    Math.min(timeoutMs, MAX_TIMER_MS),
  );
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  };
  return { signal: aborter.signal, end };
}

function parse({ ok, status }: Response, text: string): unknown {
  if (text === '' && (!ok || status === 204)) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    // A proxy's page may replace the body of a refusal, but not the body of a success.
    if (!ok) return text;
    throw new Error(`the answer ${status} is not JSON: does baseUrl lead to Jobferry?`, { cause });
  }
}

/** Whether a path can have the value. URLs resolve the segments `.` and `..` even when they are percent-encoded. */
export function isSegment(value: string): boolean {
  return !/^\.{0,2}$/.test(value);
}

/** @throws TypeError when the value would lead to another route */
export function toSegment(value: string, name: string): string {
  if (!isSegment(value)) throw new TypeError(`params.${name} cannot be '${value}'`);
  return encodeURIComponent(value);
}

/**
 * Whether an error of `fetch` is thrown as it is, and the request not repeated. That is a RangeError, which shows a
 * mistake of the program, or an error with a `digest`, by which the `fetch` of Next.js says that a page cannot be
 * rendered at build time. A TypeError is not: `fetch` throws it when the network fails.
 */
export function isMistake(error: unknown): boolean {
  return error instanceof RangeError || (error instanceof Error && 'digest' in error);
}

/**
 * @throws TypeError when no header can contain the key. `fetch` would throw a TypeError at each call, as if the network
 * had failed.
 */
export function toApiKey(apiKey: string): string {
  if (/[\0\r\n]|[^\0-\xff]/.test(apiKey.trim())) throw new TypeError('apiKey has a character that no header can have');
  return apiKey;
}

/** @throws TypeError when it is not an absolute HTTP URL */
export function toBaseUrl(baseUrl: string): string {
  if (!/^https?:\/\//.test(baseUrl)) throw new TypeError('baseUrl must begin with http:// or https://');
  if (parsedUrl(baseUrl) === null) throw new TypeError('baseUrl is not a URL');
  const url = baseUrl.replace(/\/+$/, '');
  if (url.endsWith('/v1')) throw new TypeError('baseUrl must be given without /v1');
  return url;
}

/** Exponential back-off. Half of it is random, so that clients do not retry at the same moment. */
export function backoffMs(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS) * (1 - Math.random() / 2);
}

export function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : 0;
}

/** @param background whether Node.js may exit meanwhile */
export function sleep(ms: number, signal?: AbortSignal, background = false): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (background) (timer as { unref?: () => void }).unref?.();
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
