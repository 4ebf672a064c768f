import { isEncrypted, type Scope, sizeBeforeEncryption, UnreadableError } from '../../db/connection/cipher.ts';
import type { Database } from '../../db/connection/database.ts';
import { encryptedJobs, payloadHeads, payloadsWithin } from '../../db/jobs/payloads.ts';

/** A webhook's answer in the row of an attempt, or in the row of the job before its report. */
interface StoredAnswer {
  jobId: string;
  queueId: string;
  responseBody: string | null;
}

/**
 * Decrypts stored payloads and webhook answers (docs/decisions/0007). A text that this process cannot decrypt is null,
 * and logged, so that what is read with it can be shown.
 */
export interface StoredText {
  /**
   * Returns the payloads of jobs of an account, as they were published.
   * @param bytes limit of all payloads together; payloads beyond it are `left_out`
   */
  payloads(
    accountId: string,
    jobIds: readonly string[],
    bytes: number,
  ): Promise<{ id: string; payload: string | null | { kind: 'left_out' } }[]>;
  /**
   * Returns the sizes of payloads in bytes, and their first characters. The size of a payload that is stored encrypted
   * and larger than 64 KiB is up to 2 bytes too large.
   * @param characters 0: no preview
   */
  heads(
    accountId: string,
    jobIds: readonly string[],
    characters: number,
  ): Promise<{ id: string; bytes: number; preview: string | null }[]>;
  /** Returns rows of an account with the answers as they came. */
  answers<Row extends StoredAnswer>(accountId: string, rows: readonly Row[]): Promise<Row[]>;
}

/** For code that reads rows through Prisma; the statements of `db/` decrypt by themselves. */
export function createStoredText(db: Database): StoredText {
  const { cipher } = db;
  const decrypted = (scope: Scope, stored: string, jobId: string) => {
    try {
      return cipher.decrypt(scope, stored);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      db.log.warn({ err: error, jobId }, 'a stored text cannot be decrypted, and is left out of an answer');
      return null;
    }
  };
  return {
    payloads: async (accountId, jobIds, bytes) => {
      const rows = await payloadsWithin(db.reading(accountId), accountId, jobIds, bytes);
      return rows.map(({ id, queueId, payload }) => ({
        id,
        payload: payload === null ? { kind: 'left_out' } : decrypted(`payload:${queueId}`, payload, id),
      }));
    },
    heads: async (accountId, jobIds, characters) => {
      const rows = await payloadHeads(db.reading(accountId), accountId, jobIds, characters);
      return rows.map(({ id, queueId, stored, encrypted, tail, head }) => {
        // Without characters the head is empty, and no text.
        const isWhole = encrypted && head !== null && characters > 0;
        const text = isWhole ? decrypted(`payload:${queueId}`, head, id) : head;
        return {
          id,
          bytes: encrypted ? sizeBeforeEncryption(stored, tail) : stored,
          preview: isWhole && text !== null ? firstOf(text, characters) : text,
        };
      });
    },
    answers: async (accountId, rows) => {
      // An answer is encrypted if the payload of its job is. Others may look encrypted, because a receiver chooses
      // them; without the form there is nothing to ask.
      const inForm = rows.filter(({ responseBody }) => responseBody !== null && isEncrypted(responseBody));
      if (inForm.length === 0) return [...rows];
      const encrypted = await encryptedJobs(db.reading(accountId), [...new Set(inForm.map(({ jobId }) => jobId))]);
      return rows.map((row) => {
        const { jobId, queueId, responseBody } = row;
        if (responseBody === null || !encrypted.has(jobId)) return row;
        return { ...row, responseBody: decrypted(`answer:${queueId}`, responseBody, jobId) };
      });
    },
  };
}

/** Returns the first characters of a text, counted by code points as the database does. */
export function firstOf(text: string, characters: number): string {
  return Array.from(text.slice(0, 2 * characters))
    .slice(0, characters)
    .join('');
}
