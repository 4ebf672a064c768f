import type { CallOptions } from '../calls.ts';
import { JobferryApiError } from '../errors.ts';
import { exchange } from '../exchange.ts';
import type { Fetch } from '../fetch-function.ts';
import { readGraphQL, refusalIn } from '../graphql-answer.ts';
import { sendRepeatedly } from '../retries.ts';

/** Beside its result, a mutation returns one of these. Those with fields also have `FIELDS`. */
export const ERROR = '__typename ... on Error { message }';
export const FIELDS = '... on ValidationError { formErrors fieldErrors { field messages } }';

/** Fields of a `BulkAction`. */
export const ACTION = 'id kind status matched processed succeeded skipped error';

export interface AskOptions extends CallOptions {
  /** Whether the request can be sent twice with the effect of one. */
  isRepeatable?: boolean;
  /** Time-out of a call that takes longer than others. */
  timeoutMs?: number | undefined;
}

export interface Ask {
  /** Sends a document, and returns its `data`. @throws JobferryApiError */
  document<T>(call: string, query: string, variables: object, options?: AskOptions): Promise<T>;
  /** Sends a document with one field, called `result`, and returns it. @throws JobferryApiError also for a refusal */
  result<T>(call: string, query: string, variables: object, options?: AskOptions): Promise<T>;
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
  const ask = async (call: string, query: string, variables: object, options: AskOptions = {}) => {
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
  return {
    document: async <T>(...args: Parameters<typeof ask>) => (await ask(...args)).body as T,
    result: async <T>(...[call, ...rest]: Parameters<typeof ask>) => {
      const { body, headers } = await ask(call, ...rest);
      const { __typename, ...result } = (body as { result: { __typename: string } }).result;
      const refused = refusalIn({ __typename, ...result });
      if (refused !== null) throw new JobferryApiError({ ...refused, headers }, call);
      return result as T;
    },
  };
}
