import { graphql, type ResultOf } from '../../schema/graphql.ts';

export const Activity = graphql(`
  query Activity(
    $action: String, $targetId: ID, $actor: String, $at: TimeRangeInput
    $first: Int, $after: String, $last: Int, $before: String
  ) {
    auditLog(
      action: $action, targetId: $targetId, actor: $actor, at: $at
      first: $first, after: $after, last: $last, before: $before
    ) {
      nodes { id at actor action targetType targetId targetName before after }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type ActivityEntry = ResultOf<typeof Activity>['auditLog']['nodes'][number];
