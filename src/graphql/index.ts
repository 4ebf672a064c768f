/** The GraphQL shell: from a JSON body and an account to the services and back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { blockFieldSuggestionsPlugin } from '@escape.tech/graphql-armor-block-field-suggestions';
import { type ExecutionResult, GraphQLError, getOperationAST, NoSchemaIntrospectionCustomRule } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Account } from '../domain/account.ts';
import type { KeyWatch } from '../services/accounts/key-watch.ts';
import { acceptable, wantsEvents } from './acceptable.ts';
import { type Connection, createContext, type GraphQLContext, type GraphQLServices } from './context.ts';
import { documentLimits } from './document-limits.ts';
import { exposed } from './errors.ts';
import { explorerPage } from './explorer/page.ts';
import { Streams } from './live/streams.ts';
import { tooExpensive } from './price.ts';
import { schema } from './schema.ts';

export type { GraphQLServices } from './context.ts';

export interface GraphQLOptions {
  /** The explorer, and introspection, which it needs. */
  graphiql: boolean;
  log: { error(fields: object, message: string): void };
}

interface ServerContext {
  account: Account;
  res: ServerResponse;
  /** False when what waits for the account's clients has to be read first. */
  hasRoom: () => boolean;
}

export function createGraphQL(shared: GraphQLServices & { keys: KeyWatch }, { graphiql, log }: GraphQLOptions) {
  const streams = new Streams(shared.keys);
  const yoga = createYoga<ServerContext, GraphQLContext>({
    schema,
    context: ({ account, request, res }) =>
      createContext(shared, { account, streams, signal: request.signal, connection: connectionOf(res) }),
    graphiql: false,
    landingPage: false,
    batching: false,
    cors: false,
    multipart: false,
    // The HTTP shell has read the body, within its limit.
    maxRequestBodySize: false,
    logging: false,
    maskedErrors: { maskError: (error) => masked(error, log) },
    plugins: [
      acceptable(),
      documentLimits,
      ...(graphiql ? [] : [blockFieldSuggestionsPlugin(), withoutIntrospection]),
      affordable,
      withRoom,
      stillAllowed,
      badRequests,
      unbuffered,
    ],
  });

  return {
    async execute(
      req: IncomingMessage,
      res: ServerResponse,
      body: object,
      caller: { account: Account; hasRoom: () => boolean },
    ): Promise<void> {
      // Yoga would read the request itself, and find nothing left, if the body had no members.
      const asked = Object.keys(body).length === 0 ? { query: null } : body;
      await yoga.handle(Object.assign(req, { body: asked }), res, { ...caller, res });
    },
    page: graphiql ? explorerPage() : null,
    /** Ends all subscriptions. */
    stop(): void {
      streams.stop();
    },
  };
}

/** Refusals are for the client; everything else is our own affair and goes to the log. */
function masked(error: unknown, log: GraphQLOptions['log']): Error {
  const original = error instanceof GraphQLError ? error.originalError : error;
  // No original: GraphQL itself refused the document or the variables.
  if (error instanceof GraphQLError && (original === undefined || original instanceof GraphQLError)) return error;
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  const refusal = exposed(original);
  if (refusal !== null) return new GraphQLError(refusal.message, { ...place, extensions: refusal.extensions });
  log.error({ err: original }, 'a GraphQL field failed');
  return new GraphQLError('internal error', { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR' } });
}

const withoutIntrospection: Plugin = {
  onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule),
};

/** The price is known before anything runs, also of what a subscription will read for each event. */
const affordable: Plugin = {
  onExecute: ({ args, setResultAndStopExecution }) => refuse(tooExpensive(args), setResultAndStopExecution),
  onSubscribe: ({ args, setResultAndStopExecution }) => refuse(tooExpensive(args), setResultAndStopExecution),
};

function refuse(refusal: GraphQLError | null, stop: (result: ExecutionResult) => void): void {
  if (refusal !== null) stop({ errors: [refusal] });
}

/** What was read is thrown away when the account's clients do not read what they have. A change that was made is told. */
const withRoom: Plugin<GraphQLContext & ServerContext> = {
  onExecute({ args: { document, operationName, contextValue } }) {
    if (getOperationAST(document, operationName)?.operation !== 'query') return {};
    return {
      onExecuteDone({ setResult }) {
        if (!contextValue.hasRoom()) setResult({ errors: [tooMuchUnread()] });
      },
    };
  },
};

/** What a subscription sends is held back until its key is known to be in force still. */
export const stillAllowed: Plugin<GraphQLContext> = {
  onSubscribe: ({ args: { contextValue } }) => ({
    onSubscribeResult: () => ({ onNext: () => contextValue.streams.confirmed(contextValue) }),
  }),
};

function tooMuchUnread(): GraphQLError {
  const extensions = { code: 'UNAVAILABLE', http: { status: 503, headers: { 'retry-after': '1' } } };
  return new GraphQLError('answers of your account that are not read take all its room: read them first', {
    extensions,
  });
}

/** Without `data` nothing was run: the document or its variables are wrong, and HTTP says so too. */
const badRequests: Plugin = {
  onResultProcess({ result, request }) {
    if (Array.isArray(result) || !('errors' in result)) return;
    for (const error of result.errors ?? []) {
      if (!('data' in result)) {
        // Of variables, which GraphQL gives none.
        error.extensions.code ??= 'BAD_USER_INPUT';
        // Yoga has its own opinion here, which is 200 for some clients.
        if (error.extensions.code !== 'UNAVAILABLE') error.extensions.http = { status: 400 };
      }
      // Readers of event streams take any other status for a broken connection, and never see the reason.
      if (wantsEvents(request)) delete error.extensions.http;
    }
  },
};

function connectionOf(res: ServerResponse): Connection {
  return { hasUnread: () => res.writableLength > 0, cut: () => void res.destroy() };
}

/** Proxies must neither hold events back nor compress them into lumps. */
const unbuffered: Plugin = {
  onResponse({ response }) {
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
    response.headers.set('cache-control', 'no-cache, no-transform');
    response.headers.set('x-accel-buffering', 'no');
    // Yoga says "none", which is no encoding that HTTP knows.
    response.headers.delete('content-encoding');
  },
};
