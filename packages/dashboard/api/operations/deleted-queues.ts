import { graphql } from '../../../query/schema/graphql.ts';

/** A queue that is not there may have been deleted. */
export const DeletedQueues = graphql(`
  query DeletedQueues { auditLog(first: 100, action: "queue.delete") { nodes { at targetName } } }
`);
