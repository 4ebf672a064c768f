import { isId } from '../../domain/id.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow } from '../loaders.ts';

/**
 * Returns a job of the account; null if there is none or it is past retention (D31). A job that had not ended by then
 * is kept longer (`db/retention/kept`).
 */
export async function visibleJob(context: GraphQLContext, id: string): Promise<JobRow | null> {
  if (!isId(id)) return null;
  const [job, server] = await Promise.all([context.loaders.job.load(id), context.loaders.server()]);
  if (job === null) return null;
  const now = server.now.getTime();
  const pastRetention = job.createdAt.getTime() + server.retentionSeconds * 1000;
  if (now < pastRetention || !['completed', 'dead'].includes(job.status)) return job;
  const endedAt = (job.completedAt ?? job.deadAt)?.getTime() ?? 0;
  return endedAt >= Math.max(pastRetention, now - server.lifetimeSeconds * 1000) ? job : null;
}
