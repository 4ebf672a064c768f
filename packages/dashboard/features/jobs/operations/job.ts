import { JobCourse, JobRow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const JobPage = graphql(
  `
  query JobPage($id: ID!) {
    job(id: $id) {
      ...JobRow ...JobCourse
      payloadText
      queue {
        __typename id webhookUrl
        health { answered2xx answered3xx answered4xx answered5xx unauthorized unanswered backpressure lastFailure { succeededSince } }
      }
      deadLetter { __typename id fingerprint replayedJob { __typename id } lastReplay { ...JobRow } }
      replayOf { __typename id } replays { __typename id }
    }
  }
`,
  [JobRow, JobCourse],
);
export type JobOfPage = NonNullable<ResultOf<typeof JobPage>['job']>;

/** A job beside something else: its course, and the start of its payload. */
export const JobBeside = graphql(
  `
  query JobBeside($id: ID!) { job(id: $id) { ...JobRow ...JobCourse payloadPreview(max: 2000) payloadBytes } }
`,
  [JobRow, JobCourse],
);
export type JobOfBeside = NonNullable<ResultOf<typeof JobBeside>['job']>;

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
    replayDeadLetter(id: $id) { ... on JobPayload { job { __typename id } } ... on Error { message } }
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
