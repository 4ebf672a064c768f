import { graphql, type ResultOf } from '../../../../query/schema/graphql.ts';

/** Attempts of many jobs, by their duration or by their end. */
export const AttemptsPage = graphql(`
  query AttemptsPage(
    $filter: AttemptFilter, $order: AttemptOrder, $first: Int, $after: String, $last: Int, $before: String
  ) {
    attempts(filter: $filter, orderBy: $order, first: $first, after: $after, last: $last, before: $before) {
      totalCount totalCountExact
      nodes {
        attempt status at durationMs webhookStatusCode error responseBody
        job { __typename id queue { name } }
      }
      pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    }
  }
`);
export type ListedAttempt = ResultOf<typeof AttemptsPage>['attempts']['nodes'][number];
