import { graphql } from '../../../schema/graphql.ts';

export const CheckReceiver = graphql(`
  mutation CheckReceiver($id: ID!) {
    checkReceiver(queueId: $id) {
      ... on CheckReceiverPayload { check { webhookStatusCode durationMs error errorCode signature certificateEndsAt } } ... on Error { message }
    }
  }
`);
