import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { builder } from './builder.ts';
import './scalars.ts';
import './types/attempt.ts';
import './types/job.ts';
import './types/dead-letter.ts';
import './types/queue.ts';
import './types/account.ts';
import './types/administration.ts';
import './queries.ts';
import './mutations/queues.ts';
import './mutations/jobs.ts';
import './mutations/dead-letters.ts';
import './mutations/keys.ts';
import './subscriptions.ts';

builder.queryType({ description: 'Everything is the caller’s: what belongs to others answers like what never was.' });
builder.mutationType({ description: 'Changes. Expected refusals are members of the result, not errors.' });
builder.subscriptionType({ description: 'Live updates, as server-sent events.' });

export const schema: GraphQLSchema = builder.toSchema();

/** As committed in `schema.graphql`. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
