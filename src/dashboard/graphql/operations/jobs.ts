import { graphql } from '../graphql.ts';
import { ActionNow, JobRow } from './fragments.ts';

export const JobsPage = graphql(
  `
  query JobsPage($filter: JobFilter, $order: JobOrder, $first: Int, $after: String, $last: Int, $before: String) {
    jobs(filter: $filter, orderBy: $order, first: $first, after: $after, last: $last, before: $before) {
      nodes { ...JobRow } pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`,
  [JobRow],
);

export const JobsCount = graphql(`
  query JobsCount($filter: JobFilter, $max: Int!) { count(filter: $filter, max: $max) { count exact } }
`);

/** For the sentence: only the states that the filter lets through are counted. */
export const JobsByState = graphql(`
  query JobsByState(
    $due: JobFilter, $hasDue: Boolean!, $scheduled: JobFilter, $hasScheduled: Boolean!
    $retrying: JobFilter, $hasRetrying: Boolean!, $held: JobFilter, $hasHeld: Boolean!
    $processing: JobFilter, $hasProcessing: Boolean!, $awaitingAck: JobFilter, $hasAwaitingAck: Boolean!
    $completed: JobFilter, $hasCompleted: Boolean!, $dead: JobFilter, $hasDead: Boolean!
  ) {
    DUE: count(filter: $due) @include(if: $hasDue) { count }
    SCHEDULED: count(filter: $scheduled) @include(if: $hasScheduled) { count }
    RETRYING: count(filter: $retrying) @include(if: $hasRetrying) { count }
    HELD: count(filter: $held) @include(if: $hasHeld) { count }
    PROCESSING: count(filter: $processing) @include(if: $hasProcessing) { count }
    AWAITING_ACK: count(filter: $awaitingAck) @include(if: $hasAwaitingAck) { count }
    COMPLETED: count(filter: $completed) @include(if: $hasCompleted) { count }
    DEAD: count(filter: $dead) @include(if: $hasDead) { count }
  }
`);

export const JobsHistogram = graphql(`
  query JobsHistogram($filter: JobFilter, $from: DateTime!, $to: DateTime!, $bucket: Int!) {
    jobTimeline(filter: $filter, from: $from, to: $to, bucketSeconds: $bucket) {
      at pending processing awaitingAck completed dead
    }
  }
`);

export const CancelPrice = graphql(`
  mutation CancelPrice($filter: JobFilter!, $all: Boolean!) {
    cancelJobs(filter: $filter, all: $all, dryRun: true) { ... on BulkActionPayload { matched } ... on Error { message } }
  }
`);

export const CancelAll = graphql(
  `
  mutation CancelAll($filter: JobFilter!, $all: Boolean!) {
    cancelJobs(filter: $filter, all: $all) {
      ... on BulkActionPayload { matched action { ...ActionNow } } ... on Error { message }
    }
  }
`,
  [ActionNow],
);
