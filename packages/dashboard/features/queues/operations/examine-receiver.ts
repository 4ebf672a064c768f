import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const ExamineReceiver = graphql(`
  mutation ExamineReceiver($id: ID!, $payload: String!) {
    examineReceiver(queueId: $id, payload: $payload) {
      ... on ExamineReceiverPayload { findings { name status text advice } } ... on Error { message }
    }
  }
`);

type Result = ResultOf<typeof ExamineReceiver>['examineReceiver'];
export type Finding = Extract<Result, { findings: unknown }>['findings'][number];
