/** `@jobferry/client`: the REST API, typed by the contract that the server itself is built on. */
import { initClient } from '@ts-rest/core';
import { contract } from '../contract/index.ts';
import { VerbatimJson } from '../contract/verbatim-json.ts';
import { toBaseUrl, toSegment } from './exchange.ts';
import type { Fetch } from './fetch-function.ts';
import { createTransport } from './transport.ts';
import type { JobferryClient } from './types.ts';

export { JobferryApiError, JobferryConnectionError, unwrap } from './errors.ts';
export type { Fetch } from './fetch-function.ts';
export type * from './models.ts';
export type { PayloadObject } from './payload.ts';
export type { Routes } from './routes.ts';
export type { Answer, CallOptions, JobferryClient } from './types.ts';
export { contract };

/** Options of `createClient`. */
export interface ClientOptions {
  /** Where Jobferry is, without `/v1`, such as `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** Of the account. Its creation shows it once. */
  apiKey: string;
  /** Instead of the global `fetch`. */
  fetch?: Fetch;
  /** Milliseconds that one request may take; 30 000 by default. */
  timeoutMs?: number;
  /** Further requests after the first one, for calls that may be repeated; 3 by default. */
  retries?: number;
}

/**
 * A client with a method for every route, in the groups `queues`, `jobs` and `deadLetters`.
 *
 *     const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey });
 *     const result = await client.jobs.publish({ params: { queueName: 'emails' }, body: { payload: { to: 'ada' } } });
 *     if (result.status === 201) console.log(result.body.id);
 *
 * No status is thrown: the result is a union told apart by `status`, and `unwrap` is there for who
 * would rather catch. A call rejects only with a `JobferryConnectionError`, with the reason of its
 * `signal`, or with a `TypeError` for an input that cannot be sent.
 *
 * Network errors and the answers 429, 502, 503 and 504 are retried, after a growing pause and not
 * before `Retry-After`, where repeating cannot do harm: GET, PUT, DELETE, and a publish with an
 * `idempotencyKey`. All else is sent once, since the answer that was lost may have been a success:
 * - a DELETE that is repeated after its answer was lost answers 404, as it does for a queue that never was;
 * - after a lost ack, nack or defer, read the job: when it is still `awaiting_ack`, report again. Give the
 *   delivery's `attempt`, so that a report that comes after `ackTimeout` does not count for the next delivery
 *   but is refused with 400. The webhook helper does both;
 * - after a lost create or replay, read the list.
 *
 * Payloads in answers have been through `JSON.parse`; `rawJson` is for publishing what would not
 * survive that.
 */
export function createClient(options: ClientOptions): JobferryClient {
  const { baseUrl, apiKey, timeoutMs = 30_000, retries = 3 } = options;
  if (!apiKey) throw new TypeError('apiKey is missing');
  const fetch: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const routes = initClient(contract, {
    baseUrl: toBaseUrl(baseUrl),
    baseHeaders: { authorization: `Bearer ${apiKey}` },
    api: createTransport({ fetch, timeoutMs, retries }),
  });
  return mapValues(routes, (group) =>
    mapValues(group as Record<string, RawCall>, (call) => toCall(call)),
  ) as unknown as JobferryClient;
}

/**
 * JSON source text, to be sent byte for byte as the payload or anywhere inside of it: Jobferry keeps
 * it so, and `JSON.stringify` cannot write big integers, `1e400`, `-0` or duplicate keys.
 *
 *     body: { payload: rawJson('{"n":9007199254740993}') }
 *
 * @throws SyntaxError when it is not JSON
 */
export function rawJson(text: string): object {
  JSON.parse(text);
  return new VerbatimJson(text);
}

interface RawInput {
  params?: Record<string, string>;
  query?: unknown;
  body?: unknown;
  signal?: AbortSignal;
}

type RawCall = (input: object) => Promise<unknown>;

/** ts-rest writes path parameters as they are, so that an id could lead to another route. */
function toCall(call: RawCall) {
  return async ({ params = {}, query, body, signal }: RawInput = {}) =>
    call({ params: mapValues(params, toSegment), query, body, fetchOptions: { signal } });
}

function mapValues<T, R>(object: Record<string, T>, map: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
