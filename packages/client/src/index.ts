/** `@jobferry/client`: a client of the REST API, typed by the contract that the server implements. */
import { initClient } from '@ts-rest/core';
import { contract } from '../../../src/contract/index.ts';
import { VerbatimJson } from '../../../src/contract/verbatim-json.ts';
import type { RouteCalls } from './calls.ts';
import { ofCall } from './errors.ts';
import { toApiKey, toBaseUrl, toSegment } from './exchange.ts';
import type { Fetch } from './fetch-function.ts';
import { createTransport } from './transport.ts';
import type { JobferryClient } from './types.ts';
import { createAsk } from './verbs/ask.ts';
import { createVerbs } from './verbs/index.ts';

export type { Answer, CallOptions } from './calls.ts';
export { JobferryApiError, JobferryConnectionError, unwrap } from './errors.ts';
export type { Fetch } from './fetch-function.ts';
export type * from './models.ts';
export type { PayloadObject } from './payload.ts';
export type { Routes } from './routes.ts';
export type { JobferryClient } from './types.ts';
export type { BulkActionVerbs } from './verbs/bulk-actions.ts';
export type { NewQueue } from './verbs/create-queue.ts';
export type { DeadLetterVerbs, ReplayOptions } from './verbs/dead-letters.ts';
export type { Extended, ExtendInput, JobProgress, JobVerbs } from './verbs/jobs.ts';
export type { ApiKey, CreatedKey, KeyScope, KeyVerbs, NewKey } from './verbs/keys.ts';
export type { PublishManyAnswer } from './verbs/publish-many.ts';
export type {
  Breaker,
  EnsuredQueue,
  QueueCopy,
  QueueDeclaration,
  QueueVerbs,
  ReceiverCheck,
  ReceiverFinding,
  RotatedSecret,
} from './verbs/queues.ts';
export type {
  QueueChoice,
  QueueLimits,
  QueueOutcome,
  QueuesOptions,
  QueuesResult,
  ResumeManyOptions,
  SeveralQueuesVerbs,
} from './verbs/several-queues.ts';
export type * from './verbs/types.ts';
export { contract };

/** Options of `createClient`. */
export interface ClientOptions {
  /** URL of Jobferry without `/v1`, such as `http://127.0.0.1:8080`. */
  baseUrl: string;
  /** API key of the account. Jobferry shows a key once, when it is created. */
  apiKey: string;
  /** Sends the requests; the global `fetch` by default. */
  fetch?: Fetch | undefined;
  /** Time-out of one request in milliseconds; 30 000 by default. `Infinity` for none. */
  timeoutMs?: number | undefined;
  /** Retries after the first request of calls that are safe to repeat; 3 by default. */
  retries?: number | undefined;
  /**
   * Whether a publish rejects with a `JobferryApiError` if its `idempotencyKey` belongs to an earlier job with another
   * payload. False by default: the answer is then a 200 with that job, and its header `x-jobferry-payload` is
   * `differs`. It has no effect on `jobs.publishMany`, whose answers have `payloadDiffers`.
   */
  throwIfPayloadDiffers?: boolean | undefined;
}

/**
 * Creates a client with a method for every route, in the groups `queues`, `jobs` and `deadLetters`.
 *
 *     const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey });
 *     const result = await client.jobs.publish({ params: { queueName: 'emails' }, body: { payload: { to: 'ada' } } });
 *     if (result.status === 201) console.log(result.body.id);
 *
 * A call of REST returns every answer, whatever its status: the result is a union that `status` distinguishes. `unwrap`
 * turns refusals into errors. A call rejects only with a `JobferryConnectionError`, with the reason of its `signal`, or
 * with a `TypeError` for an input that cannot be sent. Where `NODE_ENV` can be read and is not `production`, that
 * includes names that Jobferry would ignore, such as `scheduledFor` in a publish, and a Map, Set or Promise in a
 * payload, which JSON writes as `{}`.
 *
 * The client retries network errors and the answers 429, 502, 503 and 504, with an exponential back-off and not before
 * `Retry-After`. It retries only requests that are safe to repeat: GET, PUT, DELETE, and a publish with an
 * `idempotencyKey`. It sends all other requests once, because the lost answer may have been a success:
 * - A DELETE that is repeated after a lost answer gets 404, as for a queue that never existed.
 * - After a lost answer to an ack, nack or defer, read the job. If it is still `awaiting_ack`, report again. Send the
 *   `attempt` of the delivery: then a report that arrives after `ackTimeout` is refused with 400, and does not count
 *   for the next delivery. The webhook helper does both.
 * - After a lost answer to a create or a replay, read the list.
 *
 * Verbs that REST does not have are in the same groups, and in `bulkActions` and `keys`:
 * `client.queues.pause('emails')`. They go over GraphQL, return their result, and throw a `JobferryApiError` for a
 * refusal. `graphql` sends any other document.
 *
 * Payloads in answers are parsed by `JSON.parse`. To publish JSON that `JSON.stringify` cannot write, use `rawJson`.
 */
export function createClient(options: ClientOptions): JobferryClient {
  const { baseUrl, apiKey, timeoutMs = 30_000, retries = 3, throwIfPayloadDiffers = false } = options;
  if (!apiKey) throw new TypeError('apiKey is missing');
  toApiKey(apiKey);
  if (!(timeoutMs > 0)) throw new TypeError('timeoutMs must be a number of milliseconds above 0');
  const fetch: Fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  const api = { baseUrl: toBaseUrl(baseUrl), baseHeaders: { authorization: `Bearer ${apiKey}` } };
  const transport = { fetch, timeoutMs, retries };
  const calls = routeCalls({ ...api, api: createTransport({ ...transport, throwIfPayloadDiffers }) });
  // A verb returns what another job of its call has, too.
  const neverThrowing = throwIfPayloadDiffers
    ? routeCalls({ ...api, api: createTransport({ ...transport, throwIfPayloadDiffers: false }) })
    : calls;
  const verbs = createVerbs(
    neverThrowing,
    createAsk({ fetch, baseUrl: toBaseUrl(baseUrl), apiKey, timeoutMs, retries }),
  );
  return {
    ...verbs,
    queues: { ...calls.queues, ...verbs.queues },
    jobs: { ...calls.jobs, ...verbs.jobs },
    deadLetters: { ...calls.deadLetters, ...verbs.deadLetters },
  };
}

/**
 * Marks JSON source text that is sent byte for byte, as the payload or anywhere inside of it. Jobferry stores it
 * unchanged. `JSON.stringify` cannot write big integers, `1e400`, `-0` or duplicate keys.
 *
 *     body: { payload: rawJson('{"n":9007199254740993}') }
 *
 * @throws SyntaxError when the text is not JSON
 */
export function rawJson(text: string): object {
  JSON.parse(text);
  return new VerbatimJson(text);
}

function routeCalls(options: Parameters<typeof initClient>[1]): RouteCalls {
  return mapValues(initClient(contract, options), (group, groupName) =>
    mapValues(group as Record<string, RawCall>, (call, name) =>
      toCall(call, `${groupName}.${name}`, pathOf(groupName, name)),
    ),
  ) as unknown as RouteCalls;
}

interface RawInput {
  params?: Record<string, string>;
  query?: unknown;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

type RawCall = (input: object) => Promise<object>;

/**
 * Checks and escapes the path parameters. ts-rest does neither, so an id could lead to another route.
 * @param path such as `/v1/jobs/:id`
 */
function toCall(call: RawCall, callName: string, path: string) {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return async ({ params = {}, query, body, signal }: RawInput = {}) => {
    for (const name of names) if (typeof params[name] !== 'string') throw new TypeError(`params.${name} is missing`);
    const answer = await call({ params: mapValues(params, toSegment), query, body, fetchOptions: { signal } });
    return ofCall(answer, `${callName}(${names.map((name) => params[name]).join(', ')})`);
  };
}

function pathOf(group: string, name: string): string {
  return (contract as Record<string, Record<string, { path: string }>>)[group]?.[name]?.path ?? '';
}

function mapValues<T, R>(object: Record<string, T>, map: (value: T, key: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}
