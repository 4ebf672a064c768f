import { Cause, ChangeEntry, JobRow, QueueNow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

/**
 * A queue with its charts. What flows in the last minutes is fetched by itself only if the charts have longer spans.
 * The number of dead letters is that of their groups.
 */
export const QueuePage = graphql(
  `
  query QueuePage($name: String!, $from: DateTime!, $bucket: Int!, $recent: DateTime!, $hasRecent: Boolean!) {
    queue(name: $name) {
      ...QueueNow
      webhookUrl tags signingSecretRotatesAt lastDeliveryAt publishedLastMinute
      ignoredNames { message }
      tunnels { id openedBy openedAt }
      timeline(from: $from, bucketSeconds: $bucket) {
        at success failed nacked deferred dead published duration { p50 p95 p99 } wait { p50 p95 p99 }
      }
      recent: timeline(from: $recent, bucketSeconds: 300) @include(if: $hasRecent) {
        at success failed nacked deferred dead published wait { p50 }
      }
      errorGroups(first: 5) { ...Cause }
      deaths: errorGroups(first: 100) { count lastSeen }
    }
  }
`,
  [QueueNow, Cause],
);
export type QueueOfPage = NonNullable<ResultOf<typeof QueuePage>['queue']>;

/** The earlier time that the charts compare with. It does not change, so it is read by itself. */
export const QueueThen = graphql(`
  query QueueThen($name: String!, $from: DateTime!, $to: DateTime!, $bucket: Int!) {
    queue(name: $name) {
      timeline(from: $from, to: $to, bucketSeconds: $bucket) { at success published duration { p95 } wait { p95 } }
    }
  }
`);
export type PointThen = NonNullable<ResultOf<typeof QueueThen>['queue']>['timeline'][number];

/**
 * The newest changes of a queue, and the releases that began:
 * for the ticks of its charts, and for the hour before its causes of death.
 */
export const ChangesOfQueue = graphql(
  `
  query ChangesOfQueue($id: ID!, $at: TimeRangeInput!) {
    auditLog(groups: [SETTINGS], targetId: $id, at: $at, first: 50) { nodes { ...ChangeEntry } }
    releases(at: $at) { version before at }
  }
`,
  [ChangeEntry],
);

export const LatestJobs = graphql(
  `
  query LatestJobs($id: ID!) {
    jobs(first: 10, filter: { queueIds: [$id] }) { nodes { ...JobRow payloadPreview(max: 120) } }
  }
`,
  [JobRow],
);

export type LatestJob = ResultOf<typeof LatestJobs>['jobs']['nodes'][number];

/**
 * Since when the warnings of a queue have been there. QueryState for only if it has some:
 * the server reads a day of statistics.
 */
export const WarningsSince = graphql(`
  query WarningsSince($name: String!) { queue(name: $name) { id health { warnings { warning firstSeen } } } }
`);

/** Jobs published in the span of a brush. */
export const JobsOfSpan = graphql(`
  query JobsOfSpan($filter: JobFilter) { count(filter: $filter) { count exact } }
`);

export const EndHold = graphql(
  `mutation EndHold($id: ID!) { endHold(queueId: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);
