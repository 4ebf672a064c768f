import { ChangeEntry } from '../../../../query/schema/fragments.ts';
import { graphql } from '../../../../query/schema/graphql.ts';

/** The changelog of a queue. */
export const QueueChanges = graphql(
  `
  query QueueChanges($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    auditLog(groups: [SETTINGS, BREAKERS], targetId: $id, first: $first, after: $after, last: $last, before: $before) {
      nodes { ...ChangeEntry }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`,
  [ChangeEntry],
);
