import { JobCourse, JobRow } from '../../../query/schema/fragments.ts';
import { graphql } from '../../../query/schema/graphql.ts';

export const CreateQueue = graphql(`
  mutation CreateQueue($input: CreateQueueInput!) {
    createQueue(input: $input) {
      ... on CreateQueuePayload { signingSecret queue { id name webhookUrl } }
      ... on ValidationError { message formErrors fieldErrors { field messages } }
      ... on Error { message }
    }
  }
`);

export const CopiedQueue = graphql(`query CopiedQueue($name: String!) { queue(name: $name) { id webhookUrl } }`);

/** The settings that a new queue gets from the defaults, whose name is null, and from each template. */
export const Templates = graphql(`
  query Templates {
    queueTemplates {
      name mode ackTimeout ackTimeoutAction concurrency rateLimitMax rateLimitWindow maxAttempts maxDefers backoffType
      backoffDelay dlqEnabled
    }
  }
`);

/** The first job of a new queue, with its whole course. */
export const FirstJob = graphql(
  `
  query FirstJob($queueId: ID!) {
    jobs(first: 1, filter: { queueIds: [$queueId] }, orderBy: { field: CREATED_AT, direction: ASC }) {
      nodes { ...JobRow ...JobCourse }
    }
  }
`,
  [JobRow, JobCourse],
);

export const PublishFirst = graphql(`
  mutation PublishFirst($queue: String!, $input: PublishInput!) {
    publishJob(queue: $queue, input: $input) {
      ... on PublishJobPayload { created job { __typename id } }
      ... on ValidationError { message formErrors fieldErrors { field messages } }
      ... on Error { message }
    }
  }
`);
