/** The GraphQL shell: executes the operation in a JSON body for an account, with the services. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ExecutionResult, GraphQLError, getOperationAST, NoSchemaIntrospectionCustomRule } from 'graphql';
import { createYoga, isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga';
import type { SignedIn } from '../domain/session.ts';
import { shortened } from '../domain/text.ts';
import { traceOf } from '../domain/trace.ts';
import type { CredentialWatch } from '../services/accounts/credential-watch.ts';
import { acceptable, wantsEvents } from './acceptable.ts';
import { tooMuchText } from './answer-texts.ts';
import { createContext, type GraphQLContext, type GraphQLServices } from './context.ts';
import { counted } from './counted.ts';
import { documentLimits, keptDocuments } from './document-limits.ts';
import { exposed } from './errors.ts';
import { explorerPage } from './explorer/page.ts';
import { type Connection, KEY_HAS_ENDED, Streams } from './live/streams.ts';
import { refusalOf } from './price.ts';
import { type ReplicaReads, readingFrom } from './replica.ts';
import { schema } from './schema.ts';

export type { GraphQLServices } from './context.ts';

export interface GraphQLOptions {
  /** Enables the explorer, and introspection, which the explorer needs. */
  graphiql: boolean;
  log: { error(fields: object, message: string): void };
  /** Null or undefined if queries read from the primary only. */
  replica?: ReplicaReads | null;
}

interface ServerContext {
  client: SignedIn;
  res: ServerResponse;
  /** False if the buffered data for the account's clients takes all its room. */
  hasRoom: () => boolean;
  /** Whether the key or session is still in force; `unknown` if the database did not answer in time. */
  standing: () => Promise<'valid' | 'ended' | 'unknown'>;
  requestId: string;
}

export function createGraphQL(
  shared: GraphQLServices & { credentials: CredentialWatch },
  { graphiql, log, replica = null }: GraphQLOptions,
) {
  const streams = new Streams(shared.credentials);
  const unexpected: Unexpected = new WeakMap();
  const yoga = createYoga<ServerContext, GraphQLContext>({
    schema,
    context: ({ client, request: { signal }, res }) =>
      createContext(shared, {
        ...client,
        streams,
        signal,
        connection: connectionOf(res),
        trace: traceOf(res.req.headers),
      }),
    graphiql: false,
    landingPage: false,
    batching: false,
    cors: false,
    multipart: false,
    // The HTTP shell has read the body and applied its limit.
    maxRequestBodySize: false,
    logging: false,
    // Yoga's own keeps 1024 documents of any length for an hour, also those that are refused.
    parserAndValidationCache: false,
    maskedErrors: { maskError: (error) => masked(error, unexpected) },
    plugins: [
      acceptable(),
      counted(),
      keptDocuments(),
      documentLimits,
      ...(graphiql ? [] : [withoutIntrospection]),
      affordable,
      ...(replica === null ? [] : [readingFrom(replica)]),
      withRoom,
      stillKnown,
      stillAllowed,
      badRequests,
      named(unexpected, log, graphiql),
      unbuffered,
    ],
  });

  return {
    async execute(
      req: IncomingMessage,
      res: ServerResponse,
      body: object,
      caller: Omit<ServerContext, 'res'>,
    ): Promise<void> {
      // For a body without members, Yoga would read the request itself, whose data has been read already.
      const operation = Object.keys(body).length === 0 ? { query: null } : body;
      await yoga.handle(Object.assign(req, { body: operation }), res, { ...caller, res });
    },
    page: graphiql ? explorerPage() : null,
    /** Ends all subscriptions. */
    stop(): void {
      streams.stop();
    },
  };
}

/** Causes of errors that the client receives as `internal error`. */
type Unexpected = WeakMap<Error, unknown>;

/** The client receives refusals, and `internal error` for all other errors. */
function masked(error: unknown, unexpected: Unexpected): Error {
  const original = error instanceof GraphQLError ? error.originalError : error;
  // Without an original error, GraphQL itself refused the document or the variables.
  if (error instanceof GraphQLError && (original === undefined || original instanceof GraphQLError)) return error;
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  const refusal = exposed(original);
  if (refusal !== null) return new GraphQLError(refusal.message, { ...place, extensions: refusal.extensions });
  const shown = new GraphQLError('internal error', { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR' } });
  unexpected.set(shown, original);
  return shown;
}

/**
 * Adds the request's id to each error, and logs unexpected errors with it.
 * @param suggests whether the schema is shown, and so GraphQL's suggestions of fields, types, arguments and values
 */
function named(unexpected: Unexpected, log: GraphQLOptions['log'], suggests: boolean): Plugin<object, ServerContext> {
  const withId = (result: ExecutionResult, requestId: string): ExecutionResult => {
    if (result.errors === undefined) return result;
    const errors = result.errors.map((error) => {
      if (unexpected.has(error)) log.error({ err: unexpected.get(error), requestId }, 'a GraphQL field failed');
      // A copy: errors of a document are cached with the document.
      const { message, nodes = null, source = null, positions = null, path = null, extensions } = error;
      const same = { nodes, source, positions, path, originalError: error.originalError ?? null };
      const text = suggests
        ? message.replace(NO_STATUS, '$& Did you mean the enum value "DEAD"?')
        : message.replace(/ Did you mean .*\?$/s, '');
      return new GraphQLError(shortened(text), { ...same, extensions: { ...extensions, requestId } });
    });
    return { ...result, errors };
  };
  return {
    onResultProcess({ result, setResult, serverContext: { requestId } }) {
      if (isAsyncIterable(result)) setResult(mapAsyncIterator(result, (event) => withId(event, requestId)));
      else if (!Array.isArray(result)) setResult(withId(result, requestId));
    },
  };
}

/** A job whose attempts have all failed is dead; only attempts are failed. */
const NO_STATUS = /Value "FAILED" does not exist in "Job(?:Status|State)" enum\.$/;

const withoutIntrospection: Plugin = {
  onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule),
};

/** Refuses an operation by its variables or price before it runs; a subscription by the price of one event. */
const affordable: Plugin = {
  onExecute: ({ args, setResultAndStopExecution }) => refuse(refusalOf(args), setResultAndStopExecution),
  onSubscribe: ({ args, setResultAndStopExecution }) => refuse(refusalOf(args), setResultAndStopExecution),
};

function refuse(refusal: GraphQLError | null, stop: (result: ExecutionResult) => void): void {
  if (refusal !== null) stop({ errors: [refusal] });
}

/**
 * Discards the result of a query if the account's clients do not read earlier answers, or if not all its texts fit. The
 * result of a mutation is sent, because the change has been made.
 */
const withRoom: Plugin<GraphQLContext & ServerContext> = {
  onExecute({ args: { document, operationName, contextValue } }) {
    if (getOperationAST(document, operationName)?.operation !== 'query') return {};
    return {
      onExecuteDone({ setResult }) {
        if (!contextValue.hasRoom()) setResult({ errors: [tooMuchUnread()] });
        // Payloads can be null, so a payload that does not fit would leave the others, and look like a hidden one.
        else if (contextValue.texts.isExceeded) setResult({ data: null, errors: [tooLong()] });
      },
    };
  },
};

/**
 * Discards the result of a query that took long if its key or session has ended meanwhile, or if that cannot be known.
 * The result of a mutation is sent, because the change has been made.
 */
const stillKnown: Plugin<GraphQLContext & ServerContext> = {
  onExecute({ args: { document, operationName, contextValue } }) {
    if (getOperationAST(document, operationName)?.operation !== 'query') return {};
    return {
      async onExecuteDone({ setResult }) {
        const standing = await contextValue.standing();
        if (standing !== 'valid') setResult({ errors: [standing === 'ended' ? ended() : notChecked()] });
      },
    };
  },
};

/** Delays each event of a subscription until its API key or session is known to be still valid. */
export const stillAllowed: Plugin<GraphQLContext> = {
  onSubscribe: ({ args: { contextValue } }) => ({
    onSubscribeResult: () => ({ onNext: () => contextValue.streams.confirmed(contextValue) }),
  }),
};

function tooLong(): GraphQLError {
  return new GraphQLError(tooMuchText().message, { extensions: { code: 'BAD_USER_INPUT' } });
}

function tooMuchUnread(): GraphQLError {
  return busy('unread answers fill the buffer of your account: read them before the next query');
}

function notChecked(): GraphQLError {
  return busy('the database did not answer in time');
}

function busy(message: string): GraphQLError {
  const extensions = { code: 'UNAVAILABLE', http: { status: 503, headers: { 'retry-after': '1' } } };
  return new GraphQLError(message, { extensions });
}

function ended(): GraphQLError {
  const http = { status: 401, headers: { 'www-authenticate': 'Bearer' } };
  return new GraphQLError(KEY_HAS_ENDED, { extensions: { code: 'UNAUTHENTICATED', http } });
}

/** Codes of refusals that have a status of their own. */
const KEEPS_STATUS: ReadonlySet<unknown> = new Set(['UNAVAILABLE', 'UNAUTHENTICATED']);

/**
 * Sets the HTTP status 400 for a result without `data`: nothing ran, because the document or its variables are wrong.
 */
const badRequests: Plugin = {
  onResultProcess({ result, request }) {
    if (Array.isArray(result) || !('errors' in result)) return;
    for (const error of result.errors ?? []) {
      if (!('data' in result)) {
        // Errors in variables have no code from GraphQL.
        error.extensions.code ??= 'BAD_USER_INPUT';
        // Yoga alone would send 200 to some clients.
        if (!KEEPS_STATUS.has(error.extensions.code)) error.extensions.http = { status: 400 };
      }
      // A client of an event stream takes any status but 200 for a broken connection, and does not read the reason.
      if (wantsEvents(request)) delete error.extensions.http;
    }
  },
};

function connectionOf(res: ServerResponse): Connection {
  return { hasUnread: () => res.writableLength > 0, cut: () => void res.destroy() };
}

/** Proxies must neither buffer nor compress events, because both delay them. */
const unbuffered: Plugin = {
  onResponse({ response }) {
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return;
    response.headers.set('cache-control', 'no-cache, no-transform');
    response.headers.set('x-accel-buffering', 'no');
    // Yoga sends "none", which is not an encoding of HTTP.
    response.headers.delete('content-encoding');
  },
};
