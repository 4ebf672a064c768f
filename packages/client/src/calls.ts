import type { HTTPStatusCode } from '@ts-rest/core';
import type { Routes } from './routes.ts';

/**
 * The result of a call: a union with one member for each status that the route sends, distinguished by `status`. The
 * last member stands for every other status, which a proxy between the client and Jobferry may send.
 */
export type Answer<Bodies> =
  | {
      [Status in keyof Bodies]: {
        /** HTTP status of the answer. */
        status: Status;
        /** Body of the answer, parsed. */
        body: Bodies[Status];
        /** Headers of the answer. */
        headers: Headers;
      };
    }[keyof Bodies]
  | {
      /** A status that the route itself never sends. */
      status: Exclude<HTTPStatusCode, keyof Bodies>;
      /** Body of the answer: parsed if it is JSON, otherwise its text. */
      body: unknown;
      /** Headers of the answer. */
      headers: Headers;
    };

/** Options of every call. */
export interface CallOptions {
  /** Cancels the call and its retries. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

type Input<Route> = { [Part in keyof Route as Exclude<Part, 'answers'>]: Route[Part] } & CallOptions;

type Call<Route> = Route extends { answers: infer Bodies }
  ? Record<never, never> extends Input<Route>
    ? (input?: Input<Route>) => Promise<Answer<Bodies>>
    : (input: Input<Route>) => Promise<Answer<Bodies>>
  : never;

/** A method for every route of the REST API. Timestamps are ISO 8601 strings. */
export type RouteCalls = {
  [Group in keyof Routes]: { [Name in keyof Routes[Group]]: Call<Routes[Group][Name]> };
};
