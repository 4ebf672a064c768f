import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { enforceAccess } from './access/enforce.ts';
import { builder } from './builder.ts';
import './scalars.ts';
import './jobs/attempt.ts';
import './jobs/types.ts';
import './dead-letters/types.ts';
import './queues/types.ts';
import './accounts/types.ts';
import './accounts/api-keys.ts';
import './accounts/audit-log.ts';
import './members/queries.ts';
import './members/mutations.ts';
import './jobs/queries.ts';
import './jobs/attempts.ts';
import './jobs/groups.ts';
import './jobs/publish.ts';
import './jobs/mutations.ts';
import './jobs/statistics.ts';
import './dead-letters/queries.ts';
import './dead-letters/mutations.ts';
import './dead-letters/dismissals.ts';
import './queues/queries.ts';
import './queues/receivers.ts';
import './queues/templates.ts';
import './queues/several.ts';
import './queues/mutations.ts';
import './queues/check-receiver.ts';
import './bulk/types.ts';
import './bulk/queries.ts';
import './bulk/mutations.ts';
import './saved-views/saved-views.ts';
import './alerts/types.ts';
import './alerts/queries.ts';
import './alerts/mutations.ts';
import './server/server.ts';
import './server/clock.ts';
import './server/instances.ts';
import './live/subscriptions.ts';
import './live/tunnel.ts';

builder.queryType({
  description:
    'Reads. All results belong to the account of the API key or the session. Objects of other accounts are reported as not found.',
});
builder.mutationType({
  description:
    'Changes. An expected refusal is a member of the result’s union, not an error of the response. Without the role that a mutation needs, the response has an error with the code `FORBIDDEN`.',
});
builder.subscriptionType({ description: 'Live updates, as server-sent events.' });

export const schema: GraphQLSchema = builder.toSchema();
enforceAccess(schema);

/** Returns the text that is committed as `schema.graphql`. */
export function printedSchema(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
