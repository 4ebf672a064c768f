import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { GraphQLError } from 'graphql';
import type { GraphQLContext } from './context.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';

/** The connection itself has counted its items already. */
const ONE_EACH = { field: 1, multiplier: 1 };

export interface Types {
  Context: GraphQLContext;
  PrismaTypes: PrismaTypes;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
  /** Whose thing it is. Everything that is shown has passed this, whatever a resolver did before. */
  AuthScopes: { owner: string };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: NonNullable<unknown> | null; Output: unknown };
    JSONObject: { Input: Record<string, unknown>; Output: unknown };
  };
}

export const builder = new SchemaBuilder<Types>({
  // Errors first: it must see what the others throw.
  plugins: [ErrorsPlugin, ScopeAuthPlugin, ComplexityPlugin, RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
    maxConnectionSize: 100,
    defaultConnectionSize: 25,
    onUnusedQuery: process.env.NODE_ENV === 'test' ? 'error' : null,
  },
  relay: {
    cursorType: 'String',
    nodesOnConnection: { complexity: ONE_EACH, description: 'The items, for those who need no cursors.' },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      complexity: ONE_EACH,
      description: 'The items with their cursors.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    cursorFieldOptions: { description: 'For `after` and `before`.' },
    pageInfoTypeOptions: { description: 'Where a page lies within its list.' },
    pageInfoFieldOptions: { description: 'Where this page lies within the list.' },
    hasNextPageFieldOptions: { description: 'Whether items follow the last one of the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether items come before the first one of the page.' },
    startCursorFieldOptions: { description: 'Cursor of the first item.' },
    endCursorFieldOptions: { description: 'Cursor of the last item.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'An item of a list, and its cursor.' },
    firstArgOptions: { description: 'So many from the start, or after `after`; at most 100.' },
    afterArgOptions: { description: 'The cursor after which the page begins.' },
    lastArgOptions: { description: 'So many from the end, or before `before`; at most 100.' },
    beforeArgOptions: { description: 'The cursor before which the page ends.' },
  },
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: (context) => ({ owner: (accountId) => accountId === context.account.id }),
    // Resolvers ask for the caller's things only, so this is our mistake, and nobody else's business.
    unauthorizedError: () => new GraphQLError('not found', { extensions: { code: 'NOT_FOUND' } }),
  },
  // Fields say their price by this plugin; `price` adds them up, because a page's total must not be counted per item.
  complexity: { disabled: true, defaultListMultiplier: 10 },
  errors: {
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName.charAt(0).toUpperCase()}${fieldName.slice(1)}Result`,
      description: 'The result, or what kept it from happening.',
    },
  },
});
