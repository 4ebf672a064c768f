import type { Database } from '../../db/connection/database.ts';
import { payloadsWithin } from '../../db/jobs/payloads.ts';

/** Decrypts stored payloads and webhook answers (docs/decisions/0007). */
export interface StoredText {
  /**
   * Returns the payloads of jobs of an account, as they were published.
   * @param bytes limit of all payloads together; payloads beyond it are null
   */
  payloads(
    accountId: string,
    jobIds: readonly string[],
    bytes: number,
  ): Promise<{ id: string; payload: string | null }[]>;
  answer(attempt: { queueId: string; responseBody: string | null }): string | null;
}

/** For code that reads rows through Prisma; the statements of `db/` decrypt by themselves. */
export function createStoredText(db: Database): StoredText {
  const { cipher } = db;
  return {
    payloads: async (accountId, jobIds, bytes) => {
      const rows = await payloadsWithin(db.reading(accountId), accountId, jobIds, bytes);
      return rows.map(({ id, queueId, payload }) => ({
        id,
        payload: payload === null ? null : cipher.decrypt(`payload:${queueId}`, payload),
      }));
    },
    answer: ({ queueId, responseBody }) => responseBody && cipher.decrypt(`answer:${queueId}`, responseBody),
  };
}
