import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow, QueueRow } from '../loaders.ts';
import { Job, Queue } from '../refs.ts';

export const QueuePayload = builder.objectRef<{ queue: QueueRow }>('QueuePayload').implement({
  description: 'The queue after the change.',
  fields: (t) => ({ queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }) }),
});

export const JobPayload = builder.objectRef<{ job: JobRow }>('JobPayload').implement({
  description: 'The job after the change.',
  fields: (t) => ({ job: t.field({ type: Job, description: 'The job.', resolve: ({ job }) => job }) }),
});

/** Read after the change, in this request too. */
export async function queueAfter({ loaders }: GraphQLContext, id: string): Promise<{ queue: QueueRow }> {
  const queue = await loaders.queue.clear(id).load(id);
  if (queue === null) throw new Error('a queue is gone right after it was changed');
  return { queue };
}

export async function jobAfter({ loaders }: GraphQLContext, id: string): Promise<{ job: JobRow }> {
  const job = await loaders.job.clear(id).load(id);
  if (job === null) throw new Error('a job is gone right after it was changed');
  return { job };
}
