import { ActionNow } from '../../../../query/schema/fragments.ts';
import { graphql } from '../../../../query/schema/graphql.ts';

/** Bulk actions on jobs. A replay has its own dialog and operations. */

/** With `dryRun`, only the price. */
export const CancelJobs = graphql(
  `
  mutation CancelJobs($filter: JobFilter!, $all: Boolean!, $dryRun: Boolean!) {
    cancelJobs(filter: $filter, all: $all, dryRun: $dryRun) {
      ... on BulkActionPayload { matched action { ...ActionNow } } ... on Error { message }
    }
  }
`,
  [ActionNow],
);

export const RunJobs = graphql(
  `
  mutation RunJobs($filter: JobFilter!, $all: Boolean!, $dryRun: Boolean!) {
    runJobsNow(filter: $filter, all: $all, dryRun: $dryRun) {
      ... on BulkActionPayload { matched action { ...ActionNow } } ... on Error { message }
    }
  }
`,
  [ActionNow],
);
