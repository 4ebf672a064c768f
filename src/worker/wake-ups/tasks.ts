import type { JobHelpers } from 'graphile-worker';
import { BULK_TASK } from '../../db/bulk/actions.ts';
import type { BulkActions } from '../bulk/actions.ts';
import type { Maintenance } from '../maintenance/maintenance.ts';

/**
 * A task of graphile-worker. It must handle its errors: work is found again from our tables, not by graphile's retries.
 * One runs at a time, so it starts work, and does not wait for it.
 */
type Task = (payload: unknown, helpers: JobHelpers) => Promise<void>;

/** By the kinds of wake-ups, as the SQL functions and the schedule (`sweepSchedule`) write them. */
export type Tasks = Readonly<Record<'deliver' | 'timeout' | 'retention' | typeof BULK_TASK, Task>>;

export function createTasks(parts: {
  wake: (queueId: string) => void;
  bulkActions: Pick<BulkActions, 'run'>;
  maintenance: Pick<Maintenance, 'sweep' | 'checkDeadlines'>;
}): Tasks {
  const { wake, bulkActions, maintenance } = parts;
  /** "This bulk action has work." */
  const bulk: Task = async (payload) => {
    const id = textIn(payload, 'actionId');
    if (id !== null) await bulkActions.run(id);
  };
  return {
    /** "This queue may have work." The dispatcher claims, and sets a timer for the exact moment. */
    deliver: async (payload) => {
      const queueId = textIn(payload, 'queueId');
      if (queueId !== null) wake(queueId);
    },

    /** "A lease or an ack deadline of this queue passes now, or in a moment." */
    timeout: async (payload) => {
      const queueId = textIn(payload, 'queueId');
      if (queueId !== null) maintenance.checkDeadlines(queueId);
    },

    /** "The retention sweep is due." The loop of the sweep runs it. */
    retention: async () => maintenance.sweep(),

    [BULK_TASK]: bulk,
  };
}

/** @returns null if the row was written by hand and has no such text */
function textIn(payload: unknown, name: 'queueId' | 'actionId'): string | null {
  const text = (payload as Record<string, unknown> | null)?.[name];
  return typeof text === 'string' ? text : null;
}
