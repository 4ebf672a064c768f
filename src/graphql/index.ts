/** The GraphQL shell: from a JSON body and an account to the services and back. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { blockFieldSuggestionsPlugin } from '@escape.tech/graphql-armor-block-field-suggestions';
import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases';
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth';
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives';
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens';
import { GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import type { Account } from '../services/index.ts';
import { createContext, type GraphQLContext, type GraphQLServices } from './context.ts';
import { exposed } from './errors.ts';
import { explorerPage } from './explorer.ts';
import { schema } from './schema.ts';

export type { GraphQLServices } from './context.ts';

/** Far above what a dashboard needs, far below what hurts; introspection counts for nothing. */
const LIMITS = { depth: 14, aliases: 30, directives: 50, tokens: 3000 };

export interface GraphQLOptions {
  /** The explorer, and introspection, which it needs. */
  graphiql: boolean;
  log: { error(fields: object, message: string): void };
}

interface ServerContext {
  account: Account;
}

export function createGraphQL(shared: GraphQLServices, { graphiql, log }: GraphQLOptions) {
  const stopping = new AbortController();
  const yoga = createYoga<ServerContext, GraphQLContext>({
    schema,
    context: ({ account, request }) =>
      createContext(shared, account, AbortSignal.any([request.signal, stopping.signal])),
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
      maxTokensPlugin({ n: LIMITS.tokens }),
      maxDepthPlugin({ n: LIMITS.depth, ignoreIntrospection: true }),
      maxAliasesPlugin({ n: LIMITS.aliases }),
      maxDirectivesPlugin({ n: LIMITS.directives }),
      ...(graphiql ? [] : [blockFieldSuggestionsPlugin(), withoutIntrospection]),
      badRequests,
      unbuffered,
    ],
  });

  return {
    async execute(req: IncomingMessage, res: ServerResponse, account: Account, body: object): Promise<void> {
      await yoga.handle(Object.assign(req, { body }), res, { account });
    },
    page: graphiql ? explorerPage() : null,
    /** Ends all subscriptions. */
    stop(): void {
      stopping.abort();
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

/** Without `data` nothing was run: the document or its variables are wrong, and HTTP says so too. */
const badRequests: Plugin = {
  onResultProcess({ result }) {
    if (Array.isArray(result) || !('errors' in result) || 'data' in result) return;
    for (const error of result.errors ?? []) error.extensions.http = { status: 400 };
  },
};

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
