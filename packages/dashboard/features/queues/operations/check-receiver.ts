import { graphql } from '../../../../query/schema/graphql.ts';

export const CheckReceiver = graphql(`
  mutation CheckReceiver($id: ID!) {
    checkReceiver(queueId: $id) {
      ... on CheckReceiverPayload { check { webhookStatusCode durationMs error errorCode signature certificateEndsAt } } ... on Error { message }
    }
  }
`);

export const OneQueueOf = graphql(`
  query OneQueueOf($host: String!) { queues(receivers: [$host], first: 1) { nodes { id } } }
`);
