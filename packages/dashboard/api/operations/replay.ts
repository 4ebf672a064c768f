import { ActionNow, QueueNow } from '../../../query/schema/fragments.ts';
import { graphql } from '../../../query/schema/graphql.ts';

/** The dead letters that were replayed before, the queue as it is now, and the rest of the month's attempts. */
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

/** The queues of the jobs that would be replayed, those with the most of them first. */
export const ReplayReceivers = graphql(`
  query ReplayReceivers($jobs: JobFilter!) {
    jobGroups(by: [QUEUE], filter: $jobs, first: 20) {
      groupCount
      groups {
        queue {
          name paused hold { until }
          health {
          answered2xx answered3xx answered4xx answered5xx backpressure unanswered unauthorized
          attempts failed deferred lastFailure { succeededSince } past { attempts failed }
        }
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
