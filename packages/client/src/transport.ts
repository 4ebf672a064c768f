import type { ApiFetcher, ApiFetcherArgs } from '@ts-rest/core';
import { ignoredIn } from '../../../src/contract/ignored.ts';
import { contract } from '../../../src/contract/index.ts';
import { writeJson } from '../../../src/contract/verbatim-json.ts';
import { JobferryApiError } from './errors.ts';
import { exchange } from './exchange.ts';
import type { Fetch } from './fetch-function.ts';
import { checksForMistakes, refuseLostParts } from './mistakes.ts';
import { sendRepeatedly } from './retries.ts';

export interface TransportOptions {
  fetch: Fetch;
  timeoutMs: number;
  retries: number;
  throwIfPayloadDiffers: boolean;
}

const PAYLOAD_DIFFERS = 'the idempotency key belongs to an earlier job with another payload; no job was created';

/** Sends the requests that ts-rest builds, and retries those that are safe to repeat. */
export function createTransport({ fetch, timeoutMs, retries, throwIfPayloadDiffers }: TransportOptions): ApiFetcher {
  return async (args) => {
    refuseMistakes(args);
    const outcome = await sendRepeatedly(() => send(fetch, args, timeoutMs), {
      name: `${args.method} ${args.path}`,
      maxAttempts: isRepeatable(args) ? retries + 1 : 1,
      signal: args.fetchOptions?.signal ?? undefined,
    });
    if (throwIfPayloadDiffers && outcome.headers.get('x-jobferry-payload') === 'differs') {
      throw new JobferryApiError({ ...outcome, body: { error: PAYLOAD_DIFFERS } }, 'jobs.publish');
    }
    return outcome;
  };
}

/**
 * @throws TypeError outside production, for a name that Jobferry would ignore,
 * and for a payload of which a part would be lost
 */
function refuseMistakes({ route, rawBody: body, rawQuery: query }: ApiFetcherArgs): void {
  if (!checksForMistakes()) return;
  if (typeof body === 'object' && body !== null && 'payload' in body) refuseLostParts(body.payload);
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
