import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

/** A job with the texts that can be compared, and another job with its payload. */
export const CompareJobs = graphql(`
  query CompareJobs($id: ID!, $other: ID!, $hasOther: Boolean!) {
    job(id: $id) {
      id createdAt payloadText replayOf { id } replays { id }
      attempts { attempt status at durationMs webhookStatusCode error responseBody }
    }
    other: job(id: $other) @include(if: $hasOther) { id createdAt payloadText }
  }
`);
export type JobToCompare = NonNullable<ResultOf<typeof CompareJobs>['job']>;
