import { graphql, type ResultOf } from '../graphql.ts';
import { ActionNow, Cause, QueueNow } from './fragments.ts';

/** Error groups, how well their receivers are, and when a job died last. */
export const Causes = graphql(
  `
  query Causes($filter: DeadLetterFilter, $by: ErrorGroupBy!) {
    errorGroups(first: 20, filter: $filter, by: $by) {
      ...Cause answer
      queue {
        paused hold { until }
        health { answered2xx answered3xx answered4xx answered5xx backpressure unanswered unauthorized }
      }
    }
    newest: deadLetters(first: 1) { nodes { id deadAt } }
    oldest: deadLetters(last: 1, filter: $filter) { hint nodes { id job { id createdAt } } }
  }
`,
  [Cause],
);
export type CauseRow = ResultOf<typeof Causes>['errorGroups'][number];

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

/** What has been replayed before, the queue as it is now, and what is left of the month. */
export const ReplayContext = graphql(
  `
  query ReplayContext($queueId: ID, $isOneQueue: Boolean!, $replayed: DeadLetterFilter, $isOfLetters: Boolean!) {
    deadLetters(filter: $replayed, first: 1) @include(if: $isOfLetters) { totalCount totalCountExact }
    queue(id: $queueId) @include(if: $isOneQueue) { ...QueueNow maxAttempts backoffType backoffDelay }
    account { usage { attempts } plan { monthlyAttempts } }
  }
`,
  [QueueNow],
);

/** The queues of the jobs that would be replayed. */
export const ReplayReceivers = graphql(`
  query ReplayReceivers($jobs: JobFilter!) {
    jobGroups(by: [QUEUE], filter: $jobs, first: 50) {
      groups {
        queue {
          id name paused hold { until }
          health { answered2xx answered3xx answered4xx answered5xx backpressure unanswered unauthorized }
        }
      }
    }
  }
`);

/** With `dryRun`, only the price. */
export const Replay = graphql(
  `
  mutation Replay(
    $queueId: ID, $filter: DeadLetterFilter, $jobs: JobFilter, $all: Boolean!
    $rate: Int, $canary: Boolean!, $dryRun: Boolean!
  ) {
    replayDeadLetters(
      queueId: $queueId, filter: $filter, jobs: $jobs, all: $all, ratePerSecond: $rate, canary: $canary, dryRun: $dryRun
    ) {
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
