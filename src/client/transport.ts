import type { ApiFetcher, ApiFetcherArgs } from '@ts-rest/core';
import { ignoredIn } from '../contract/ignored.ts';
import { contract } from '../contract/index.ts';
import { writeJson } from '../contract/verbatim-json.ts';
import { JobferryApiError, JobferryConnectionError } from './errors.ts';
import { backoffMs, exchange, RETRIED_STATUSES, retryAfterMs, sleep } from './exchange.ts';
import type { Fetch } from './fetch-function.ts';

export interface TransportOptions {
  fetch: Fetch;
  timeoutMs: number;
  retries: number;
  throwIfPayloadDiffers: boolean;
}

/** The client does not wait for a longer `Retry-After`, but returns the answer. */
const MAX_RETRY_AFTER_MS = 60_000;

const PAYLOAD_DIFFERS = 'the idempotency key belongs to an earlier job with another payload; no job was created';

/** Sends the requests that ts-rest builds, and retries those that are safe to repeat. */
export function createTransport({ fetch, timeoutMs, retries, throwIfPayloadDiffers }: TransportOptions): ApiFetcher {
  return async (args) => {
    refuseUnknownNames(args);
    const signal = args.fetchOptions?.signal ?? undefined;
    const maxAttempts = isRepeatable(args) ? retries + 1 : 1;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await send(fetch, args, timeoutMs).catch((error: unknown) => ({ error }));
      const failed = 'error' in outcome;
      if (failed) signal?.throwIfAborted();
      else if (!RETRIED_STATUSES.has(outcome.status)) {
        if (throwIfPayloadDiffers && outcome.headers.get('x-jobferry-payload') === 'differs') {
          throw new JobferryApiError({ ...outcome, body: { error: PAYLOAD_DIFFERS } }, 'jobs.publish');
        }
        return outcome;
      }

      const pauseMs = attempt < maxAttempts ? pauseBefore(attempt, failed ? null : outcome.headers) : null;
      if (pauseMs !== null) await sleep(pauseMs, signal);
      else if (failed) throw new JobferryConnectionError(`${args.method} ${args.path}`, attempt, outcome.error);
      else return outcome;
    }
  };
}

/** @throws TypeError outside production, for a name that Jobferry would ignore: it is a mistake in the program */
function refuseUnknownNames({ route, rawBody: body, rawQuery: query }: ApiFetcherArgs): void {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  if (process?.env === undefined || process.env.NODE_ENV === 'production') return;
  const ignored = ignoredIn(route, { body, query });
  if (ignored !== null) throw new TypeError(`${route.method} ${route.path} would ignore ${ignored}`);
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
