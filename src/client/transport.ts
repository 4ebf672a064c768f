import type { ApiFetcher, ApiFetcherArgs } from '@ts-rest/core';
import { contract } from '../contract/index.ts';
import { writeJson } from '../contract/verbatim-json.ts';
import { JobferryConnectionError } from './errors.ts';
import { backoffMs, exchange, RETRIED_STATUSES, retryAfterMs, sleep } from './exchange.ts';
import type { Fetch } from './fetch-function.ts';

export interface TransportOptions {
  fetch: Fetch;
  timeoutMs: number;
  retries: number;
}

/** The client does not wait for a longer `Retry-After`, but returns the answer. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Sends the requests that ts-rest builds, and retries those that are safe to repeat. */
export function createTransport({ fetch, timeoutMs, retries }: TransportOptions): ApiFetcher {
  return async (args) => {
    const signal = args.fetchOptions?.signal ?? undefined;
    const maxAttempts = isRepeatable(args) ? retries + 1 : 1;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await send(fetch, args, timeoutMs).catch((error: unknown) => ({ error }));
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
 * Whether the request can be sent twice with the effect of one. A publish can, with an `idempotencyKey`. A report or a
 * replay cannot: if the first answer was lost, the second request is refused although the first one worked, and a
 * report could apply to a later delivery of the same job (the webhook helper reads the job in between).
 */
function isRepeatable({ route, rawBody }: ApiFetcherArgs): boolean {
  if (route.method === 'GET' || route.method === 'PUT' || route.method === 'DELETE') return true;
  if (route.path !== contract.jobs.publish.path) return false;
  return typeof (rawBody as { idempotencyKey?: unknown } | undefined)?.idempotencyKey === 'string';
}

function send(fetch: Fetch, args: ApiFetcherArgs, timeoutMs: number) {
  const { method, path, headers, rawBody, fetchOptions } = args;
  // Not ts-rest's own text of the body, in which `rawJson` would not stay as it is (D26).
  const body = rawBody === undefined ? {} : { body: writeJson(rawBody) };
  return exchange(fetch, { method, url: path, headers, ...body, signal: fetchOptions?.signal ?? undefined }, timeoutMs);
}

/** Milliseconds until the retry; null when `Retry-After` is too long. */
function pauseBefore(attempt: number, headers: Headers | null): number | null {
  const asked = retryAfterMs(headers?.get('retry-after') ?? null);
  return asked > MAX_RETRY_AFTER_MS ? null : Math.max(backoffMs(attempt), asked);
}
