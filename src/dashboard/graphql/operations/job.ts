import { graphql, type ResultOf } from '../graphql.ts';
import { JobRow } from './fragments.ts';

export const JobPage = graphql(
  `
  query JobPage($id: ID!) {
    job(id: $id) {
      ...JobRow
      payloadText backoffType backoffDelay deliverBy progress { text at }
      attempts { attempt status at durationMs waitMs webhookStatusCode error responseBody }
      queue {
        __typename id name mode webhookUrl concurrency inFlight rateLimitMax rateLimitWindow maxDefers ackTimeout
        ackTimeoutAction pause { since by } hold { until reason askedBy { id } probe { id } } rateWindow { used max resetsAt }
        health {
          answered2xx answered3xx answered4xx answered5xx unauthorized unanswered backpressure
          duration { p50 p95 } warnings { warning message }
        }
      }
      deadLetter { __typename id fingerprint reason deadAt replayedAt replayedJob { __typename id status } }
      replayOf { __typename id status } replays { __typename id status createdAt }
    }
    changes: auditLog(first: 3, targetId: $id) { nodes { at actor action } }
  }
`,
  [JobRow],
);
export type JobOfPage = NonNullable<ResultOf<typeof JobPage>['job']>;

/** How many died of the same cause. */
export const SameCause = graphql(`
  query SameCause($filter: DeadLetterFilter) {
    errorGroups(first: 1, filter: $filter) { fingerprint count firstSeen lastSeen }
  }
`);

export const RunNow = graphql(
  `mutation RunNow($id: ID!) { runNow(id: $id) { ... on JobPayload { job { ...JobRow } } ... on Error { message } } }`,
  [JobRow],
);

export const CancelJob = graphql(
  `mutation CancelJob($id: ID!) { cancelJob(id: $id) { ... on JobPayload { job { ...JobRow } } ... on Error { message } } }`,
  [JobRow],
);

export const ReplayOne = graphql(`
  mutation ReplayOne($id: ID!) {
    replayDeadLetter(id: $id) { ... on JobPayload { job { __typename id status } } ... on Error { message } }
  }
`);

export const Ack = graphql(
  `mutation Ack($id: ID!) { ackJob(id: $id) { ... on JobPayload { job { ...JobRow } } ... on Error { message } } }`,
  [JobRow],
);

export const Nack = graphql(
  `
  mutation Nack($id: ID!, $reason: String, $retryable: Boolean!) {
    nackJob(id: $id, reason: $reason, retryable: $retryable) {
      ... on JobPayload { job { ...JobRow } } ... on Error { message }
    }
  }
`,
  [JobRow],
);
