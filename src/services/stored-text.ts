import type { Database } from '../db/database.ts';

/** What the rows of jobs and attempts hold, as it was before it was stored (docs/decisions/0007). */
export interface StoredText {
  payload(job: { queueId: string; payload: string }): string;
  answer(attempt: { queueId: string; responseBody: string | null }): string | null;
}

/** For readers that get rows by themselves; those of `db/` do this on the way. */
export function createStoredText({ box }: Pick<Database, 'box'>): StoredText {
  return {
    payload: ({ queueId, payload }) => box.open(`payload:${queueId}`, payload),
    answer: ({ queueId, responseBody }) => responseBody && box.open(`answer:${queueId}`, responseBody),
  };
}
