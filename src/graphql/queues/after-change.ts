import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { QueueRow } from '../loaders.ts';
import { Queue } from '../refs.ts';

export const QueuePayload = builder.objectRef<{ queue: QueueRow }>('QueuePayload').implement({
  description: 'The queue after the change.',
  fields: (t) => ({ queue: t.field({ type: Queue, description: 'The queue.', resolve: ({ queue }) => queue }) }),
});

/** Reads the queue again after a change: the request may have cached it before. */
export async function queueAfter({ loaders }: GraphQLContext, id: string): Promise<{ queue: QueueRow }> {
  const queue = await loaders.queue.clear(id).load(id);
  if (queue === null) throw new Error('a queue was not found right after it was changed');
  return { queue };
}
