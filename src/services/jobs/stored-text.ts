import { sizeBeforeEncryption } from '../../db/connection/cipher.ts';
import type { Database } from '../../db/connection/database.ts';
import { payloadHeads, payloadsWithin } from '../../db/jobs/payloads.ts';

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
  /**
   * Returns the sizes of payloads in bytes, and their first characters. The size of a payload that is stored encrypted and
   * larger than 64 KiB is up to 2 bytes too large.
   * @param characters 0: no preview
   */
  heads(
    accountId: string,
    jobIds: readonly string[],
    characters: number,
  ): Promise<{ id: string; bytes: number; preview: string | null }[]>;
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
    heads: async (accountId, jobIds, characters) => {
      const rows = await payloadHeads(db.reading(accountId), accountId, jobIds, characters);
      return rows.map(({ id, queueId, stored, encrypted, tail, head }) => ({
        id,
        bytes: encrypted ? sizeBeforeEncryption(stored, tail) : stored,
        preview: encrypted && head !== null ? firstOf(cipher.decrypt(`payload:${queueId}`, head), characters) : head,
      }));
    },
    answer: ({ queueId, responseBody }) => responseBody && cipher.decrypt(`answer:${queueId}`, responseBody),
  };
}

/** Returns the first characters of a text, counted by code points as the database does. */
export function firstOf(text: string, characters: number): string {
  return Array.from(text.slice(0, 2 * characters))
    .slice(0, characters)
    .join('');
}
