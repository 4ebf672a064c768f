import { graphql, type ResultOf } from '../graphql.ts';
import { QueueNow } from './fragments.ts';

/** The live queues, with enough of the last minutes to tell how each of them is. */
export const QueuesPage = graphql(
  `
  query QueuesPage($first: Int!, $after: String, $search: String, $recent: DateTime!) {
    queues(first: $first, after: $after, search: $search) {
      totalCount pageInfo { endCursor hasNextPage }
      nodes {
        ...QueueNow
        recent: timeline(from: $recent, bucketSeconds: 300) { at success failed nacked deferred wait { p50 p95 } }
      }
    }
  }
`,
  [QueueNow],
);
export type QueueOfPage = ResultOf<typeof QueuesPage>['queues']['nodes'][number];

/** The bars of the sparklines. They are a request of their own, as three days of a hundred queues take a while. */
export const QueueTimelines = graphql(`
  query QueueTimelines($first: Int!, $after: String, $search: String, $from: DateTime!, $bucket: Int!) {
    queues(first: $first, after: $after, search: $search) {
      pageInfo { endCursor hasNextPage }
      nodes {
        __typename id
        timeline(from: $from, bucketSeconds: $bucket) { at success failed nacked deferred wait { p50 p95 } }
      }
    }
  }
`);

/** Jobs that came in, of one queue: whether it falls behind or catches up. */
export const QueueInflow = graphql(`
  query QueueInflow($id: ID!, $recent: DateTime!) {
    jobTimeline(filter: { queueIds: [$id] }, from: $recent, bucketSeconds: 300) {
      at pending processing awaitingAck completed dead
    }
  }
`);

/** What jobs died of: the largest groups for Overview, and their sums for the table. */
export const Deaths = graphql(`
  query Deaths {
    errorGroups(first: 100, filter: { replayed: false }) {
      fingerprint reason error webhookStatusCode count firstSeen lastSeen
      sample { __typename id queue { __typename id name maxAttempts } }
    }
  }
`);
export type DeathGroup = ResultOf<typeof Deaths>['errorGroups'][number];

export const LastDelivery = graphql(`
  query LastDelivery { account { id lastDeliveryAt } }
`);

export const PauseListed = graphql(
  `mutation PauseListed($id: ID!) { pauseQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);

export const ResumeListed = graphql(
  `mutation ResumeListed($id: ID!) { resumeQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);
