import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

export const Activity = graphql(`
  query Activity(
    $groups: [AuditGroup!], $action: String, $targetId: ID, $actor: String, $at: TimeRangeInput
    $first: Int, $after: String, $last: Int, $before: String, $releases: Boolean!
  ) {
    auditLog(
      groups: $groups, action: $action, targetId: $targetId, actor: $actor, at: $at
      first: $first, after: $after, last: $last, before: $before
    ) {
      nodes { id at actor memberId action targetType targetId targetName before after }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
    releases(at: $at) @include(if: $releases) { version before at }
  }
`);
export type ActivityPage = ResultOf<typeof Activity>['auditLog'];
export type ActivityEntry = ActivityPage['nodes'][number];
