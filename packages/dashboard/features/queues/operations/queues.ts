import { QueueNow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

/** The live queues, with enough of the last minutes to tell how each of them is. */
export const QueuesPage = graphql(
  `
  query QueuesPage($first: Int!, $after: String, $search: String, $tags: [String!], $receivers: [String!], $order: QueueOrder!, $recent: DateTime!) {
    server { now }
    queues(first: $first, after: $after, search: $search, tags: $tags, receivers: $receivers, orderBy: $order) {
      totalCount pageInfo { endCursor hasNextPage }
      nodes {
        ...QueueNow
        tags webhookUrl publishedLastMinute
        recent: timeline(from: $recent, bucketSeconds: 300) {
          at success failed nacked deferred dead published wait { p50 p95 }
        }
      }
    }
  }
`,
  [QueueNow],
);
export type QueueOfPage = ResultOf<typeof QueuesPage>['queues']['nodes'][number];

/**
 * The bars of the sparklines, and what jobs died of: the largest groups for Overview, and their sums for the table.
 * They are a request of their own, as three days of a hundred queues take a while. Another one has the bars of an
 * earlier time.
 */
export const QueueTimelines = graphql(`
  query QueueTimelines(
    $first: Int!, $after: String, $search: String, $tags: [String!], $receivers: [String!], $order: QueueOrder!, $from: DateTime!, $to: DateTime, $bucket: Int!
    $hasDeaths: Boolean!
  ) {
    queues(first: $first, after: $after, search: $search, tags: $tags, receivers: $receivers, orderBy: $order) {
      pageInfo { endCursor hasNextPage }
      nodes {
        __typename id
        timeline(from: $from, to: $to, bucketSeconds: $bucket) { at success failed nacked deferred wait { p50 p95 } }
      }
    }
    deaths: errorGroups(first: 100, filter: { replayed: false }) @include(if: $hasDeaths) {
      fingerprint reason error webhookStatusCode count firstSeen lastSeen
      queue { __typename id name maxAttempts }
    }
    changes: auditLog(groups: [SETTINGS], at: { from: $from }, first: 100) @include(if: $hasDeaths) {
      nodes { at targetId }
    }
  }
`);
export type DeathGroup = NonNullable<ResultOf<typeof QueueTimelines>['deaths']>[number];

/** When the last attempt of a queue ended: too dear for all queues of a page. */
export const LastOfQueue = graphql(`
  query LastOfQueue($name: String!) { queue(name: $name) { id lastDeliveryAt } }
`);

export const LastDelivery = graphql(`
  query LastDelivery { account { lastDeliveryAt } }
`);
