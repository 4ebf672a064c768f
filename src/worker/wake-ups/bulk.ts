import type { BulkActions } from '../bulk/actions.ts';
import type { Task } from './index.ts';

/** "This bulk action has work." Its batches run outside of the task, so that they do not delay other wake-ups. */
export function createBulkTask(bulkActions: BulkActions): Task {
  return async (payload) => {
    const id = (payload as { actionId?: unknown } | null)?.actionId;
    if (typeof id === 'string') await bulkActions.run(id);
  };
}
