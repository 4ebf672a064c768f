import { graphql, type ResultOf } from '../graphql.ts';
import { ActionNow, Cause, QueueNow } from './fragments.ts';

/** Error groups, how well their receivers are, and when a job died last. */
export const Causes = graphql(
  `
  query Causes($filter: DeadLetterFilter) {
    errorGroups(first: 20, filter: $filter) {
      ...Cause
      sample {
        queue {
          health { answered2xx answered3xx answered4xx answered5xx backpressure unanswered unauthorized }
        }
      }
    }
    dismissals { fingerprint }
    newest: deadLetters(first: 1) { nodes { id deadAt } }
    oldest: deadLetters(last: 1, filter: $filter) { nodes { id job { id createdAt } } }
  }
`,
  [Cause],
);
export type CauseRow = ResultOf<typeof Causes>['errorGroups'][number];

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
        __typename id deadAt reason error webhookStatusCode fingerprint replayedAt
        replayedJob { id status } queue { id name } job { id attemptsMade createdAt }
      }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type DeadLetterRow = ResultOf<typeof DeadLetters>['deadLetters']['nodes'][number];

/** The filter of dead letters has ids of queues, people have names. */
export const QueueOfName = graphql(`query QueueOfName($name: String!) { queue(name: $name) { id } }`);

export const ReplayPrice = graphql(`
  mutation ReplayPrice($queueId: ID!, $filter: DeadLetterFilter) {
    replayDeadLetters(queueId: $queueId, filter: $filter, dryRun: true) {
      ... on BulkActionPayload { matched } ... on Error { message }
    }
  }
`);

/** What has been replayed before, the queue as it is now, and what is left of the month. */
export const ReplayContext = graphql(
  `
  query ReplayContext($queueId: ID!, $replayed: DeadLetterFilter) {
    deadLetters(filter: $replayed, first: 1) { totalCount totalCountExact }
    queue(id: $queueId) { ...QueueNow maxAttempts backoffType backoffDelay }
    account { usage { attempts } plan { monthlyAttempts } }
  }
`,
  [QueueNow],
);

export const Replay = graphql(
  `
  mutation Replay($queueId: ID!, $filter: DeadLetterFilter, $rate: Int, $canary: Boolean!) {
    replayDeadLetters(queueId: $queueId, filter: $filter, ratePerSecond: $rate, canary: $canary) {
      ... on BulkActionPayload { matched action { ...ActionNow } }
      ... on Error { message }
      ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`,
  [ActionNow],
);

export const ReplayLetter = graphql(`
  mutation ReplayLetter($id: ID!) {
    replayDeadLetter(id: $id) { ... on JobPayload { job { id status } } ... on Error { message } }
  }
`);
