import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { builder } from './builder.ts';
import './scalars.ts';
import './jobs/attempt.ts';
import './jobs/types.ts';
import './dead-letters/types.ts';
import './queues/types.ts';
import './accounts/types.ts';
import './server/types.ts';
import './queries.ts';
import './queues/mutations.ts';
import './jobs/mutations.ts';
import './dead-letters/mutations.ts';
import './accounts/mutations.ts';
import './live/subscriptions.ts';

builder.queryType({ description: 'Everything is the caller’s: what belongs to others answers like what never was.' });
builder.mutationType({ description: 'Changes. Expected refusals are members of the result, not errors.' });
builder.subscriptionType({ description: 'Live updates, as server-sent events.' });

export const schema: GraphQLSchema = builder.toSchema();

/** As committed in `schema.graphql`. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
