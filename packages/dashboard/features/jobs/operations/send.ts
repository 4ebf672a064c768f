import { JobRow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const Send = graphql(
  `
  mutation Send($queue: String!, $input: PublishInput!) {
    publishJob(queue: $queue, input: $input) {
      ... on PublishJobPayload { created job { ...JobRow } }
      ... on ValidationError { formErrors fieldErrors { field messages } }
      ... on Error { message }
    }
  }
`,
  [JobRow],
);

/** The queue to send to, the others, and the payload of its latest job. */
export const SendPage = graphql(`
  query SendPage($name: String!) {
    queue(name: $name) {
      id name mode webhookUrl ackTimeout paused
      jobs(first: 1) { nodes { id payloadText } }
    }
    queues(first: 100) { nodes { name } }
  }
`);
export type SendQueue = NonNullable<ResultOf<typeof SendPage>['queue']>;

/** The payload of the job that is edited and published again. */
export const PayloadOf = graphql(`query PayloadOf($id: ID!) { job(id: $id) { payloadText } }`);
