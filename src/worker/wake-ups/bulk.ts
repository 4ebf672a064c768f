import type { BulkActions } from '../bulk/actions.ts';
import type { Task } from './index.ts';

/** "This bulk action has work": its batches are done outside of the task, which others wait for. */
export function createBulkTask(bulkActions: BulkActions): Task {
  return async (payload) => {
    const id = (payload as { actionId?: unknown } | null)?.actionId;
    if (typeof id === 'string') await bulkActions.run(id);
  };
}
