import type { JobHelpers } from 'graphile-worker';

/** A task of graphile-worker. It must handle what goes wrong: the truth is in our tables, not in its retries. */
export type Task = (payload: unknown, helpers: JobHelpers) => Promise<void>;

export interface Tasks {
  deliver: Task;
  timeout: Task;
  bulk: Task;
}

/** The queue that a wake-up is about; null for a row that somebody wrote by hand. */
export function queueOf(payload: unknown): string | null {
  const id = (payload as { queueId?: unknown } | null)?.queueId;
  return typeof id === 'string' ? id : null;
}
