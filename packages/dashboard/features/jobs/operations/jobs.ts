import { JobRow } from '../../../../query/schema/fragments.ts';
import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

export const JobsPage = graphql(
  `
  query JobsPage($filter: JobFilter, $order: JobOrder, $first: Int, $after: String, $last: Int, $before: String) {
    jobs(filter: $filter, orderBy: $order, first: $first, after: $after, last: $last, before: $before) {
      hint nodes { ...JobRow payloadPreview(max: 120) deadLetter { __typename id lastReplay { __typename id state endedAt deadReason } } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`,
  [JobRow],
);
/** A row of the list. The live stream does not send the payload, which never changes. */
export type ListedJob = ResultOf<typeof JobsPage>['jobs']['nodes'][number];

/** For the sentence. */
export const JobsByState = graphql(`
  query JobsByState($filter: JobFilter, $replayed: JobFilter) {
    replayed: count(filter: $replayed) { count }
    jobGroups(by: [STATE, DEAD_REASON], filter: $filter) { groups { state deadReason count } }
  }
`);

export const JobsHistogram = graphql(`
  query JobsHistogram($filter: JobFilter, $from: DateTime!, $to: DateTime!, $bucket: Int!) {
    jobTimeline(filter: $filter, from: $from, to: $to, bucketSeconds: $bucket) {
      at pending processing awaitingAck completed dead
    }
  }
`);
