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

/** A longer `Retry-After` is left to the caller, who knows better what to do until then. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Sends the requests that ts-rest builds, and repeats those that are safe to repeat. */
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
 * Whether doing it twice is the same as doing it once. A publish is by its `idempotencyKey`. A report
 * or a replay is not: when the first answer was lost, the second would be a refusal although it worked,
 * and a report could meet a later delivery of the same job (the webhook helper reads the job in between).
 */
function isRepeatable({ route, rawBody }: ApiFetcherArgs): boolean {
  if (route.method === 'GET' || route.method === 'PUT' || route.method === 'DELETE') return true;
  if (route.path !== contract.jobs.publish.path) return false;
  return typeof (rawBody as { idempotencyKey?: unknown } | undefined)?.idempotencyKey === 'string';
}

function send(fetch: Fetch, args: ApiFetcherArgs, timeoutMs: number) {
  const { method, path, headers, rawBody, fetchOptions } = args;
  // ts-rest's own text of the body has been through JSON.parse where source text must stay as it is (D26).
  const body = rawBody === undefined ? {} : { body: writeJson(rawBody) };
  return exchange(fetch, { method, url: path, headers, ...body, signal: fetchOptions?.signal ?? undefined }, timeoutMs);
}

/** Null when a retry would come too late to be worth it. */
function pauseBefore(attempt: number, headers: Headers | null): number | null {
  const asked = retryAfterMs(headers?.get('retry-after') ?? null);
  return asked > MAX_RETRY_AFTER_MS ? null : Math.max(backoffMs(attempt), asked);
}
