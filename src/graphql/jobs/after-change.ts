import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow } from '../loaders.ts';
import { Job } from '../refs.ts';

export const JobPayload = builder.objectRef<{ job: JobRow }>('JobPayload').implement({
  description: 'The job after the change.',
  fields: (t) => ({ job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }) }),
});

/** Reads the job again after a change: the request may have cached it before. */
export async function jobAfter({ loaders }: GraphQLContext, id: string): Promise<{ job: JobRow }> {
  const job = await loaders.job.clear(id).load(id);
  if (job === null) throw new Error('a job was not found right after it was changed');
  return { job };
}
