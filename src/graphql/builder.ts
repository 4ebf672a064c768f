import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { GraphQLError } from 'graphql';
import type { QueueRow } from '../services/insight/queues.ts';
import type { JobRow } from '../services/jobs/rows.ts';
import type { GraphQLContext } from './context.ts';
import type PrismaTypes from './generated/pothos.ts';
import { getDatamodel } from './generated/pothos.ts';

/** The price of the connection includes the number of items. */
const ONE_EACH = { field: 1, multiplier: 1 };

type Model<Name extends keyof PrismaTypes, Shape> = Omit<PrismaTypes[Name], 'Shape'> & { Shape: Shape };

/**
 * Prisma's models with the columns that are read of them. Loaders read queues and jobs without secrets, payloads and
 * answers, so a field that exposes one of these does not compile. The account is that of the request, which is more
 * than its row.
 */
export interface Models extends Omit<PrismaTypes, 'Account' | 'Queue' | 'Job'> {
  Account: Model<'Account', Pick<PrismaTypes['Account']['Shape'], 'id' | 'name' | 'plan'>>;
  Queue: Model<'Queue', QueueRow>;
  Job: Model<'Job', JobRow>;
}

export interface Types {
  Context: GraphQLContext;
  PrismaTypes: Models;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
  DefaultNodeNullability: false;
  /** Id of the account that owns the object. Every returned object passes this check, whatever its resolver did. */
  AuthScopes: { owner: string };
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Date; Output: Date };
    JSON: { Input: NonNullable<unknown> | null; Output: unknown };
    JSONObject: { Input: Record<string, unknown>; Output: unknown };
  };
}

export const builder = new SchemaBuilder<Types>({
  // The errors plugin is first, because it must catch what the other plugins throw.
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
    nodesOnConnection: { complexity: ONE_EACH, description: 'The items, without their cursors.' },
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      complexity: ONE_EACH,
      description: 'The items with their cursors.',
    },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    cursorFieldOptions: { description: 'Cursor of the item, for `after` and `before`.' },
    pageInfoTypeOptions: { description: 'Position of a page in its list.' },
    pageInfoFieldOptions: { description: 'Cursors of the page, and whether there are further pages.' },
    hasNextPageFieldOptions: { description: 'Whether the list has items after the last one of the page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the list has items before the first one of the page.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null if the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last item; null if the page is empty.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'An item of a list, and its cursor.' },
    firstArgOptions: {
      description: 'Number of items from the start of the list, or after `after`: 25 by default, at most 100.',
    },
    afterArgOptions: { description: 'The cursor after which the page begins.' },
    lastArgOptions: { description: 'Number of items from the end of the list, or before `before`; at most 100.' },
    beforeArgOptions: { description: 'The cursor before which the page ends.' },
  },
  scopeAuth: {
    authorizeOnSubscribe: true,
    authScopes: (context) => ({ owner: (accountId) => accountId === context.account.id }),
    // Resolvers query for objects of the account only, so a failed check is a bug in Jobferry. The client sees no more.
    unauthorizedError: () => new GraphQLError('not found', { extensions: { code: 'NOT_FOUND' } }),
  },
  // This plugin only stores the prices of fields. `price` adds them up, because a page's total must not count per item.
  complexity: { disabled: true, defaultListMultiplier: 10 },
  errors: {
    directResult: true,
    defaultUnionOptions: {
      name: ({ fieldName }) => `${fieldName.charAt(0).toUpperCase()}${fieldName.slice(1)}Result`,
      description: 'The result, or the reason why the request was refused.',
    },
  },
});
