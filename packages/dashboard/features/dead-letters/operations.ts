import { Cause, ChangeEntry } from '../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

/** Error groups, with one more of each queue than is shown, how well their receivers are, and when a job died last. */
export const Causes = graphql(
  `
  query Causes($filter: DeadLetterFilter, $by: ErrorGroupBy!) {
    errorGroups(first: 21, filter: $filter, by: $by) {
      ...Cause answer changeBefore { ...ChangeEntry }
      queue {
        paused hold { until }
        health {
          answered2xx answered3xx answered4xx answered5xx backpressure unanswered unauthorized
          attempts failed deferred lastFailure { succeededSince } past { attempts failed }
        }
      }
    }
    releases { version before at }
    dismissals { fingerprint }
    newest: deadLetters(first: 1) { nodes { deadAt } }
    oldest: deadLetters(last: 1, filter: $filter) { hint nodes { job { createdAt } } }
  }
`,
  [Cause, ChangeEntry],
);
export type CauseRow = ResultOf<typeof Causes>['errorGroups'][number];

/** The queues whose dead letters have the same cause: it is dismissed in all of them. */
export const CauseReach = graphql(`
  query CauseReach($filter: DeadLetterFilter) {
    errorGroups(acrossQueues: true, first: 1, filter: $filter) { queueCount queues(first: 40) { count queue { id name } } }
  }
`);

export const Dismiss = graphql(`
  mutation Dismiss($fingerprint: String!) {
    dismissErrorGroup(fingerprint: $fingerprint) { ... on Error { message } }
  }
`);

export const Restore = graphql(`
  mutation Restore($fingerprint: String!) {
    restoreErrorGroup(fingerprint: $fingerprint) { ... on Error { message } }
  }
`);

export const DeadLetters = graphql(`
  query DeadLetters($filter: DeadLetterFilter, $first: Int, $after: String, $last: Int, $before: String) {
    deadLetters(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
      totalCount totalCountExact
      nodes {
        __typename id deadAt reason error webhookStatusCode replayedAt
        replayedJob { id } queue { name } job { id attemptsMade }
      }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type DeadLetterRow = ResultOf<typeof DeadLetters>['deadLetters']['nodes'][number];

/** The mutation of `ReplayOne`, whose script this screen does not need. */
export const ReplayLetter = graphql(`
  mutation ReplayLetter($id: ID!) {
    replayDeadLetter(id: $id) { ... on JobPayload { job { id } } ... on Error { message } }
  }
`);
