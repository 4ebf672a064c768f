import type { CallOptions } from '../calls.ts';
import { JobferryApiError } from '../errors.ts';
import { exchange } from '../exchange.ts';
import type { Fetch } from '../fetch-function.ts';
import { readGraphQL, refusalIn } from '../graphql-answer.ts';
import { sendRepeatedly } from '../retries.ts';
import type { Operation } from './document.ts';

/** Beside its result, a mutation returns one of these. Those with fields also have `FIELDS`. */
export const ERROR = '__typename ... on Error { message }';
export const FIELDS = '... on ValidationError { formErrors fieldErrors { field messages } }';

/** Fields of a `BulkAction`. */
export const ACTION = 'id kind status matched processed succeeded skipped error';

interface AskOptions extends CallOptions {
  /** Whether the request can be sent twice with the effect of one. */
  isRepeatable?: boolean;
  /** Time-out of a call that takes longer than others. */
  timeoutMs?: number | undefined;
}

/** A mutation whose result matters only if it is a refusal. */
export type ById = Operation<{ result: unknown }, { id: string }>;

/** Values to send for a type of the schema: lists are only read, and JSON leaves out members that are undefined. */
export type Sendable<T> = T extends readonly (infer Item)[]
  ? readonly Sendable<Item>[]
  : T extends object
    ? { [Name in keyof T]: Sendable<T[Name]> | (object extends Pick<T, Name> ? undefined : never) }
    : T;

/** The result of a mutation that was not refused. */
export type Success<Result> = Omit<Exclude<Result, { message: string }>, '__typename'>;

export interface Ask {
  /** Sends a document of the caller, and returns its `data`. @throws JobferryApiError */
  text<T>(call: string, query: string, variables: object, options?: AskOptions): Promise<T>;
  /** Sends an operation, and returns its `data`. @throws JobferryApiError */
  document<Data, Variables>(
    call: string,
    operation: Operation<Data, Variables>,
    variables: Sendable<Variables>,
    options?: AskOptions,
  ): Promise<Data>;
  /** Sends a mutation whose field is called `result`, and returns that. @throws JobferryApiError also for a refusal */
  result<Result, Variables>(
    call: string,
    operation: Operation<{ result: Result }, Variables>,
    variables: Sendable<Variables>,
    options?: AskOptions,
  ): Promise<Success<Result>>;
}

interface Setup {
  fetch: Fetch;
  baseUrl: string;
  apiKey: string;
  timeoutMs: number;
  retries: number;
}

export function createAsk({ fetch, baseUrl, apiKey, timeoutMs: usualMs, retries }: Setup): Ask {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const ask = async (call: string, query: unknown, variables: unknown, options: AskOptions = {}) => {
    const { signal, isRepeatable = false, timeoutMs = usualMs } = options;
    const outgoing = { method: 'POST', url: `${baseUrl}/graphql`, headers, signal };
    const body = JSON.stringify({ query, variables });
    const answer = await sendRepeatedly(
      async () => readGraphQL(await exchange(fetch, { ...outgoing, body }, timeoutMs)),
      { name: call, maxAttempts: isRepeatable ? retries + 1 : 1, signal },
    );
    if (answer.status !== 200) throw new JobferryApiError(answer, call);
    return answer;
  };
  type Rest = [query: unknown, variables: unknown, options?: AskOptions];
  const dataOf = async <Data>(call: string, ...rest: Rest) => (await ask(call, ...rest)).body as Data;
  return {
    text: dataOf,
    document: dataOf,
    result: async <Result>(call: string, ...rest: Rest) => {
      const { body, headers } = await ask(call, ...rest);
      const { __typename, ...result } = (body as { result: { __typename: string } }).result;
      const refused = refusalIn({ __typename, ...result });
      if (refused !== null) throw new JobferryApiError({ ...refused, headers }, call);
      return result as unknown as Success<Result>;
    },
  };
}
