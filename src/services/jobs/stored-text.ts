import type { Database } from '../../db/connection/database.ts';
import { payloadsWithin } from '../../db/jobs/payloads.ts';

/** What the rows of jobs and attempts hold, as it was before it was stored (docs/decisions/0007). */
export interface StoredText {
  /**
   * Payloads of jobs of an account, as they were published.
   * @param bytes when these are more, the rest are null
   */
  payloads(
    accountId: string,
    jobIds: readonly string[],
    bytes: number,
  ): Promise<{ id: string; payload: string | null }[]>;
  answer(attempt: { queueId: string; responseBody: string | null }): string | null;
}

/** For readers that get rows by themselves; those of `db/` do this on the way. */
export function createStoredText(db: Database): StoredText {
  const { box } = db;
  return {
    payloads: async (accountId, jobIds, bytes) => {
      const rows = await payloadsWithin(db.reading(accountId), accountId, jobIds, bytes);
      return rows.map(({ id, queueId, payload }) => ({
        id,
        payload: payload === null ? null : box.open(`payload:${queueId}`, payload),
      }));
    },
    answer: ({ queueId, responseBody }) => responseBody && box.open(`answer:${queueId}`, responseBody),
  };
}
