import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const Receivers = graphql(`
  query Receivers($after: String) {
    receivers(first: 100, after: $after) {
      host queueCount pausedQueues heldQueues ackQueues
      health { attempts failed refused answered2xx backpressure failingQueues untriedQueues acceptedAt lastFailure { at succeededSince } past { attempts failed } duration { p95 } }
    }
  }
`);
export type ReceiverRow = ResultOf<typeof Receivers>['receivers'][number];

export const ReceiverPage = graphql(`
  query ReceiverPage($host: String!) {
    receiver(host: $host) {
      host queueCount pausedQueues heldQueues ackQueues
      health {
        attempts failed refused failingQueues untriedQueues acceptedAt refusedAt lastFailure { at succeededSince } past { attempts failed } duration { p50 p95 }
        answered2xx answered3xx answered4xx answered5xx unauthorized backpressure unanswered
      }
    }
  }
`);
export type ReceiverOfPage = NonNullable<ResultOf<typeof ReceiverPage>['receiver']>;
