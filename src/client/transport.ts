import type { ApiFetcher, ApiFetcherArgs } from '@ts-rest/core';
import { contract, writeJson } from '../contract/index.ts';
import { JobferryConnectionError } from './errors.ts';

/** As much of `fetch` as is used, so that a wrapper around it is a line. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface TransportOptions {
  fetch: Fetch;
  timeoutMs: number;
  retries: number;
}

interface Received {
  status: number;
  body: unknown;
  headers: Headers;
}

/** Answers that say "not now"; 429 comes from a proxy, 503 from the service too. */
export const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5000;
/** Who is told to come back later than this decides better than we do what to do until then. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Sends what ts-rest has put together, again where that is safe. */
export function createTransport({ fetch, timeoutMs, retries }: TransportOptions): ApiFetcher {
  return async (args) => {
    const signal = args.fetchOptions?.signal ?? undefined;
    const maxAttempts = isRepeatable(args) ? retries + 1 : 1;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await exchange(fetch, args, timeoutMs).catch((error: unknown) => ({ error }));
      const failed = 'error' in outcome;
      if (failed) signal?.throwIfAborted();
      else if (!RETRIED_STATUSES.has(outcome.status)) return outcome;

      const pauseMs = attempt < maxAttempts ? pauseBefore(attempt, failed ? null : outcome.headers) : null;
      if (pauseMs !== null) await sleep(pauseMs, signal);
      else if (failed) throw new JobferryConnectionError(`${args.method} ${args.path}`, attempt, outcome.error);
      else return outcome;
    }
  };
}

/**
 * Whether doing it twice is the same as doing it once. A publish is by its `idempotencyKey`. A report
 * or a replay is not: when the first answer was lost, the second would be a refusal although it worked,
 * and a report could meet a later delivery of the same job (the webhook helper looks at the job in between).
 */
function isRepeatable({ route, rawBody }: ApiFetcherArgs): boolean {
  if (route.method === 'GET' || route.method === 'PUT' || route.method === 'DELETE') return true;
  if (route.path !== contract.jobs.publish.path) return false;
  return typeof (rawBody as { idempotencyKey?: unknown } | undefined)?.idempotencyKey === 'string';
}

async function exchange(fetch: Fetch, args: ApiFetcherArgs, timeoutMs: number): Promise<Received> {
  const { method, path, headers, rawBody, fetchOptions } = args;
  const timeout = AbortSignal.timeout(timeoutMs);
  const response = await fetch(path, {
    method,
    headers,
    // ts-rest's own text of it has been through JSON.parse where source text must stay as it is (D26).
    ...(rawBody === undefined ? {} : { body: writeJson(rawBody) }),
    signal: fetchOptions?.signal ? AbortSignal.any([timeout, fetchOptions.signal]) : timeout,
    // Followed, a redirected POST becomes a GET. Nothing in the contract redirects.
    redirect: 'manual',
  });
  const text = await response.text();
  return { status: response.status, body: parse(response, text), headers: response.headers };
}

function parse({ ok, status }: Response, text: string): unknown {
  if (text === '' && (!ok || status === 204)) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    // A proxy's page may stand in for a refusal, but not for what was asked for.
    if (!ok) return text;
    throw new Error(`the answer ${status} is not JSON: does baseUrl lead to Jobferry?`, { cause });
  }
}

/** Null: not worth it. */
function pauseBefore(attempt: number, headers: Headers | null): number | null {
  const asked = retryAfterMs(headers?.get('retry-after') ?? null);
  return asked > MAX_RETRY_AFTER_MS ? null : Math.max(backoffMs(attempt), asked);
}

/** Exponential, half of it by chance so that clients do not come back together. */
export function backoffMs(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS) * (1 - Math.random() / 2);
}

export function retryAfterMs(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms > 0 ? ms : 0;
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
