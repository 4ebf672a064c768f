import { QueueNow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const QueueSettings = graphql(
  `
  query QueueSettings($name: String!) {
    queue(name: $name) {
      ...QueueNow
      webhookUrl tags dlqEnabled maxAttempts maxDefers ackTimeout ackTimeoutAction backoffType backoffDelay
      payloadsEncrypted standardWebhooks production signingSecretRotatesAt
      deadLetters(first: 1) { totalCount totalCountExact }
    }
    account { plan { maxAttempts maxDefers } }
  }
`,
  [QueueNow],
);
export type QueueOfSettings = NonNullable<ResultOf<typeof QueueSettings>['queue']>;

export const UpdateQueue = graphql(
  `
  mutation UpdateQueue($id: ID!, $input: UpdateQueueInput!) {
    updateQueue(id: $id, input: $input) {
      ... on QueuePayload { queue { ...QueueNow } }
      ... on ValidationError { formErrors fieldErrors { field messages } }
      ... on Error { message }
    }
  }
`,
  [QueueNow],
);

export const RotateSecret = graphql(`
  mutation RotateSecret($id: ID!, $overlap: Float!) {
    rotateSigningSecret(queueId: $id, overlapSeconds: $overlap) {
      ... on RotateSigningSecretPayload { signingSecret takesOverAt }
      ... on Error { message }
    }
  }
`);

export const FinishRotation = graphql(`
  mutation FinishRotation($id: ID!) {
    finishSecretRotation(queueId: $id) { ... on QueuePayload { queue { id } } ... on Error { message } }
  }
`);

export const Encrypt = graphql(`
  mutation Encrypt($id: ID!, $on: Boolean!) {
    setPayloadEncryption(queueId: $id, enabled: $on) {
      ... on QueuePayload { queue { id } } ... on Error { message }
    }
  }
`);

export const SetStandardWebhooks = graphql(`
  mutation SetStandardWebhooks($id: ID!, $on: Boolean!) {
    setStandardWebhooks(queueId: $id, enabled: $on) {
      ... on QueuePayload { queue { id } } ... on Error { message }
    }
  }
`);

export const SetBreaker = graphql(`
  mutation SetBreaker($id: ID!, $breaker: BreakerInput) {
    setBreaker(queueId: $id, breaker: $breaker) {
      ... on QueuePayload { queue { id } }
      ... on ValidationError { fieldErrors { field messages } }
      ... on Error { message }
    }
  }
`);

export const MarkProduction = graphql(`
  mutation MarkProduction($id: ID!, $on: Boolean!) {
    markProduction(queueId: $id, production: $on) { ... on QueuePayload { queue { id } } ... on Error { message } }
  }
`);

export const Purge = graphql(`
  mutation Purge($id: ID!, $dryRun: Boolean!) {
    purgeQueue(id: $id, dryRun: $dryRun) {
      ... on PurgeQueuePayload { matched action { id } } ... on Error { message }
    }
  }
`);

export const DeleteQueue = graphql(`
  mutation DeleteQueue($id: ID!) { deleteQueue(id: $id) { ... on DeleteQueuePayload { id } ... on Error { message } } }
`);
