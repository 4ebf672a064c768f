import { graphql, type ResultOf } from '../graphql.ts';
import { Cause, JobRow, QueueNow } from './fragments.ts';

export const QueuePage = graphql(
  `
  query QueuePage($name: String!) {
    queue(name: $name) {
      ...QueueNow
      webhookUrl ackTimeout signingSecretRotatesAt payloadsEncrypted
      deadLetters(first: 1, filter: { replayed: false }) { totalCount totalCountExact nodes { id deadAt } }
      errorGroups(first: 5) { ...Cause }
    }
  }
`,
  [QueueNow, Cause],
);
export type QueueOfPage = NonNullable<ResultOf<typeof QueuePage>['queue']>;

export const LatestJobs = graphql(
  `
  query LatestJobs($id: ID!) { queue(id: $id) { jobs(first: 10) { nodes { ...JobRow } } } }
`,
  [JobRow],
);

/** What came in and what went out in the last minutes, and when the last delivery ended. */
export const QueueFlow = graphql(`
  query QueueFlow($name: String!, $from: DateTime!) {
    queue(name: $name) {
      timeline(from: $from, bucketSeconds: 300) { at success failed nacked wait { p50 } }
      jobs(first: 1, filter: { statuses: [COMPLETED] }, orderBy: { field: COMPLETED_AT, direction: DESC }) {
        nodes { id completedAt }
      }
    }
    jobTimeline(filter: { queueNames: [$name] }, from: $from, bucketSeconds: 300) {
      at pending processing awaitingAck completed dead
    }
  }
`);

export const QueueTimeline = graphql(`
  query QueueTimeline($name: String!, $from: DateTime!, $bucket: Int!) {
    queue(name: $name) {
      timeline(from: $from, bucketSeconds: $bucket) {
        at success failed nacked deferred duration { p50 p95 p99 } wait { p50 p95 p99 }
      }
    }
    jobTimeline(filter: { queueNames: [$name] }, from: $from, bucketSeconds: $bucket) {
      at pending processing awaitingAck completed dead
    }
  }
`);

/** Since when the warnings of a queue have been there. Asked for only if it has some: the server reads a day of statistics. */
export const WarningsSince = graphql(`
  query WarningsSince($name: String!) { queue(name: $name) { id health { warnings { warning firstSeen } } } }
`);

/** Jobs published in the span of a brush. */
export const JobsOfSpan = graphql(`
  query JobsOfSpan($filter: JobFilter) { count(filter: $filter) { count exact } }
`);

/** A queue that is not there may have been deleted. */
export const DeletedQueues = graphql(`
  query DeletedQueues { auditLog(first: 100, action: "queue.delete") { nodes { at targetName } } }
`);

export const Pause = graphql(
  `mutation Pause($id: ID!) { pauseQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);

export const Resume = graphql(
  `mutation Resume($id: ID!) { resumeQueue(id: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);

export const EndHold = graphql(
  `mutation EndHold($id: ID!) { endHold(queueId: $id) { ... on QueuePayload { queue { ...QueueNow } } ... on Error { message } } }`,
  [QueueNow],
);
