import { isId } from '../domain/id.ts';
import type { GraphQLContext } from './context.ts';
import type { JobRow } from './loaders.ts';

/** A job of the account that is not past retention, swept or not (D31). */
export async function visibleJob(context: GraphQLContext, id: string): Promise<JobRow | null> {
  if (!isId(id)) return null;
  const [job, server] = await Promise.all([context.loaders.job.load(id), context.loaders.server()]);
  if (job === null) return null;
  return server.now.getTime() - job.createdAt.getTime() < server.retentionSeconds * 1000 ? job : null;
}
