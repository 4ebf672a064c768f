import { JobferryConnectionError, ofCall } from '../errors.ts';
import { exchange, isMistake, type Outgoing, type Received, toSegment } from '../exchange.ts';
import { readGraphQL, refusalIn } from '../graphql-answer.ts';
import type { DeferInput, NackInput } from '../models.ts';
import type { JobferryClient } from '../types.ts';
import type { Api } from './options.ts';

/** The answer of each route of a job: 200 with the job, or a refusal. */
export type JobAnswer = Awaited<ReturnType<JobferryClient['jobs']['get']>>;

/** The answer of `extend`, as that of a route. */
export type ExtendAnswer =
  | { status: 200; body: { deadline: string }; headers: Headers }
  /** `isOver`: the service says that the attempt is over. Any answer without it may come from a proxy. */
  | { status: 400 | 401 | 403 | 404 | 500 | 503; body: unknown; headers: Headers; isOver: boolean };

export interface ExtendInput {
  attempt: number;
  seconds: number;
  progress: string | undefined;
}

/** The calls about one job that its delivery needs. */
export interface JobCalls {
  get(): Promise<JobAnswer>;
  ack(body: { attempt: number }): Promise<JobAnswer>;
  nack(body: NackInput): Promise<JobAnswer>;
  defer(body: DeferInput): Promise<JobAnswer>;
  extend(input: ExtendInput, timeoutMs?: number): Promise<ExtendAnswer>;
}

const TIMEOUT_MS = 30_000;

function send(call: string, outgoing: Outgoing, timeoutMs: number): Promise<Received> {
  return exchange((...args) => fetch(...args), outgoing, timeoutMs).catch((error: unknown) => {
    throw isMistake(error) ? error : new JobferryConnectionError(call, 1, error);
  });
}

/**
 * Calls the service with `fetch` alone: a webhook bundle stays small without ts-rest and zod. Each call is sent once,
 * and rejects with a `JobferryConnectionError` when no answer arrives.
 */
export function createJobCalls({ baseUrl, apiKey }: Api, id: string): JobCalls {
  const job = `${baseUrl}/v1/jobs/${toSegment(id, 'id')}`;
  const call = async (method: string, url: string, body?: object, timeoutMs = TIMEOUT_MS): Promise<Received> => {
    const headers = { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) };
    const outgoing = { method, url, headers, ...(body && { body: JSON.stringify(body) }) };
    return send(`${method} ${url}`, outgoing, timeoutMs);
  };
  const report = async (name: string, body: object) =>
    ofCall((await call('POST', `${job}/${name}`, body)) as JobAnswer, `jobs.${name}(${id})`);
  return {
    get: async () => (await call('GET', job)) as JobAnswer,
    ack: (body) => report('ack', body),
    nack: (body) => report('nack', body),
    defer: (body) => report('defer', body),
    extend: async (input, timeoutMs) => {
      const answer = await call(
        'POST',
        `${baseUrl}/graphql`,
        { query: EXTEND, variables: { id, ...input } },
        timeoutMs,
      );
      return ofCall(readExtended(answer), `extendAck(${id})`);
    },
  };
}

/** Calls by the report URL of a delivery, which needs no key. */
export function createUrlCalls(reportUrl: string, id: string): JobCalls {
  const call = async (name: string, body?: object, timeoutMs = TIMEOUT_MS): Promise<Received> => {
    const url = name === '' ? reportUrl : `${reportUrl}/${name}`;
    const outgoing = {
      method: body === undefined ? 'GET' : 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    };
    return send(`${outgoing.method} the report URL of job ${id}`, outgoing, timeoutMs);
  };
  const report = async (name: string, body: object) =>
    ofCall((await call(name, body)) as JobAnswer, `jobs.${name}(${id})`);
  return {
    get: async () => (await call('')) as JobAnswer,
    ack: (body) => report('ack', body),
    nack: (body) => report('nack', body),
    defer: (body) => report('defer', body),
    extend: async ({ seconds, progress }, timeoutMs) => {
      const { status, body, headers } = await call('extend', { seconds, progress }, timeoutMs);
      const answer = { status, body, headers, isOver: saysOver({ status, body }) } as ExtendAnswer;
      return ofCall(answer, `extendAck(${id})`);
    },
  };
}

/** Texts of the refusals by which a route says that the job does not await the report on this attempt. */
const OVER_TEXT = /awaiting_ack|not in ack mode|^attempt \d+ |^job not found$|^this report URL is not valid/;

/** Whether a route refuses because the attempt is over. A proxy sends 400 and 404, too, such as during a roll-out. */
export function saysOver({ status, body }: Pick<Received, 'status' | 'body'>): boolean {
  return (status === 400 || status === 404) && OVER_TEXT.test(errorText(body));
}

/** Whether the service, and not a proxy, refuses because the API key lacks a scope. */
export function saysForbidden({ status, body }: Pick<Received, 'status' | 'body'>): boolean {
  return status === 403 && errorText(body).startsWith('this API key has no right');
}

/** Returns the message of a refusal; empty for the page of a proxy. */
function errorText(body: unknown): string {
  const { error } = (typeof body === 'object' && body !== null ? body : {}) as { error?: unknown };
  return typeof error === 'string' ? error : '';
}

/** REST has no route for it, because the contract has none. */
const EXTEND = `mutation ($id: ID!, $attempt: Int!, $seconds: Float!, $progress: String) {
  extendAck(id: $id, attempt: $attempt, seconds: $seconds, progress: $progress) {
    __typename
    ... on ExtendAckPayload { deadline }
    ... on Error { message }
  }
}`;

/** Refusals that say that the job no longer awaits the report on this attempt. */
const OVER: ReadonlySet<string> = new Set(['InvalidRequestError', 'NotFoundError']);

interface Extended {
  __typename: string;
  deadline?: string;
}

/** Gives an answer of GraphQL the status and the body that a route would have. */
function readExtended(received: Received): ExtendAnswer {
  const { status, body, headers } = readGraphQL(received);
  if (status !== 200) return { status: status as 500, body, headers, isOver: false };
  const { extendAck: result } = body as { extendAck: Extended };
  const refused = refusalIn(result);
  if (refused === null) return { status: 200, body: { deadline: result.deadline ?? '' }, headers };
  return { ...(refused as { status: 400; body: unknown }), headers, isOver: OVER.has(result.__typename) };
}
