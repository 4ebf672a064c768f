import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

const QueuesDone = graphql(`
  fragment QueuesDone on QueuesPayload {
    changed waiting waitingExact pausedAt
    queues { id name outcome concurrency rateLimitMax rateLimitWindow }
  }
`);
export type QueuesDone = ResultOf<typeof QueuesDone>;

export const PauseQueues = graphql(
  `
  mutation PauseQueues($queues: QueueChoice!, $dryRun: Boolean!) {
    pauseQueues(queues: $queues, dryRun: $dryRun) { ...QueuesDone ... on Error { message } }
  }
`,
  [QueuesDone],
);

export const ResumeQueues = graphql(
  `
  mutation ResumeQueues($queues: QueueChoice!, $dryRun: Boolean!, $pausedAt: DateTime) {
    resumeQueues(queues: $queues, dryRun: $dryRun, pausedAt: $pausedAt) { ...QueuesDone ... on Error { message } }
  }
`,
  [QueuesDone],
);

export const LimitQueues = graphql(
  `
  mutation LimitQueues($queues: QueueChoice!, $limits: QueueLimitsInput!, $dryRun: Boolean!) {
    limitQueues(queues: $queues, limits: $limits, dryRun: $dryRun) {
      ...QueuesDone ... on Error { message } ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`,
  [QueuesDone],
);

export const RestoreLimits = graphql(
  `
  mutation RestoreLimits($former: [FormerLimitsInput!]!, $limits: QueueLimitsInput!) {
    restoreQueueLimits(former: $former, limits: $limits) { ...QueuesDone ... on Error { message } }
  }
`,
  [QueuesDone],
);
