import { ActionNow, Cause, JobRow, QueueNow } from '../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

export const Actions = graphql(
  `
  query Actions($first: Int, $after: String, $last: Int, $before: String) {
    bulkActions(first: $first, after: $after, last: $last, before: $before) {
      nodes { ...ActionNow } pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`,
  [ActionNow],
);

export const ActionPage = graphql(
  `
  query ActionPage($id: ID!) {
    bulkAction(id: $id) { ...ActionNow queue { ...QueueNow } }
    bulkActions(first: 6) { nodes { ...ActionNow } }
    stops: auditLog(first: 1, targetId: $id, action: "bulk_action.cancel") { nodes { actor } }
  }
`,
  [ActionNow, QueueNow],
);
export type ActionOfPage = NonNullable<ResultOf<typeof ActionPage>['bulkAction']>;

/**
 * The jobs that the action made or changed: those that wait for the resume of a queue, and all by their state. The
 * numbers of the action are as of the same moment; the live stream does not change them.
 */
export const ActionJobs = graphql(`
  query ActionJobs($id: ID!, $isCounted: Boolean!) {
    bulkAction(id: $id) { succeeded finishedAt }
    jobs(first: 1, filter: { actionId: $id, waitReasons: [PAUSED] }) {
      totalCount totalCountExact nodes { __typename id queue { __typename id name pause { since by } } }
    }
    jobGroups(by: [STATE, DEAD_REASON], filter: { actionId: $id }) @include(if: $isCounted) {
      groups { state deadReason count }
    }
  }
`);

/** The cause of death of a replay's dead letters. */
export const CauseOfAction = graphql(
  `
  query CauseOfAction($filter: DeadLetterFilter) { errorGroups(first: 1, filter: $filter) { ...Cause } }
`,
  [Cause],
);

/** The job that a replay sent ahead. */
export const Canary = graphql(
  `
  query Canary($id: ID!) {
    job(id: $id) { ...JobRow attempts { durationMs webhookStatusCode } }
  }
`,
  [JobRow],
);

export const StopAction = graphql(
  `
  mutation StopAction($id: ID!) {
    cancelBulkAction(id: $id) { ... on BulkActionPayload { action { ...ActionNow } } ... on Error { message } }
  }
`,
  [ActionNow],
);

export const PauseAction = graphql(
  `
  mutation PauseAction($id: ID!) {
    pauseBulkAction(id: $id) { ... on BulkActionPayload { action { ...ActionNow } } ... on Error { message } }
  }
`,
  [ActionNow],
);

export const ResumeAction = graphql(
  `
  mutation ResumeAction($id: ID!) {
    resumeBulkAction(id: $id) { ... on BulkActionPayload { action { ...ActionNow } } ... on Error { message } }
  }
`,
  [ActionNow],
);

/** How my running actions ended, in case the stream was away when they did. */
export const ActionState = graphql(
  `
  query ActionState($id: ID!) { bulkAction(id: $id) { ...ActionNow } }
`,
  [ActionNow],
);
