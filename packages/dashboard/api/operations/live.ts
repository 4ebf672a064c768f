import { ActionNow, JobRow, QueueNow } from '../../../query/schema/fragments.ts';
import { graphql } from '../../../query/schema/graphql.ts';

export const Live = graphql(
  `
  subscription Live($watch: WatchInput!) {
    live(watch: $watch, minIntervalMs: 250) {
      ... on QueueStats { queues { ...QueueNow } }
      ... on JobsUpdated { jobs { ...JobRow } }
      ... on BulkActionProgress { action { ...ActionNow } }
    }
  }
`,
  [QueueNow, JobRow, ActionNow],
);
