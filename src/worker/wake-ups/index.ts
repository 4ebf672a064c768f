import type { JobHelpers } from 'graphile-worker';

/** A task of graphile-worker. It must handle its errors: work is found again from our tables, not by graphile's retries. */
export type Task = (payload: unknown, helpers: JobHelpers) => Promise<void>;

export interface Tasks {
  deliver: Task;
  timeout: Task;
  bulk: Task;
}

/** @returns the queue id of a wake-up; null if the row was written by hand and has none */
export function queueOf(payload: unknown): string | null {
  const id = (payload as { queueId?: unknown } | null)?.queueId;
  return typeof id === 'string' ? id : null;
}
