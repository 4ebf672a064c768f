import { JobferryError } from '../../domain/errors.ts';
import type { Database, Statement } from '../connection/database.ts';

const INDEX: Statement = {
  name: 'index-payloads',
  text: `select jobferry_index_payloads($1, $2 * interval '1 ms', p_parse => $3) as indexed`,
};

/**
 * Indexes the next payloads, at most `max` per account. The others are left for the turn of their account.
 * @param parse false leaves all of them for the turns of their accounts, so that no payload can make this fail
 * @returns the number of jobs that were indexed or left; 0 when there are none, or when another process is indexing or
 *   did so less than `pauseMs` ago
 */
export async function indexPayloads(db: Database, max: number, pauseMs = 0, parse = true): Promise<number> {
  const row = await db.one<{ indexed: number }>(INDEX, [max, pauseMs, parse]);
  return row?.indexed ?? 0;
}

const INDEX_WAITING: Statement = {
  name: 'index-waiting-payloads',
  text: `select jobferry_index_waiting($1, $2, $3 * interval '1 ms', $4) as indexed`,
};

/**
 * Indexes waiting payloads of the account whose turn it is.
 * @param giveUp skips them instead, so that they stay unsearchable
 * @returns how many; 0 when none is waiting, or when another process is indexing or did so less than `pauseMs` ago
 */
export async function indexWaiting(
  db: Database,
  { max, bytes, pauseMs, giveUp }: { max: number; bytes: number; pauseMs: number; giveUp: boolean },
): Promise<number> {
  const row = await db.one<{ indexed: number }>(INDEX_WAITING, [max, bytes, pauseMs, giveUp]);
  return row?.indexed ?? 0;
}

/** query_canceled: the statement took too long. */
const CANCELED = '57014';

/** Whether a batch probably failed because of its payloads: it took too long, or the server refuses it each time. */
export function isOfBatch(error: unknown): boolean {
  if (!(error instanceof JobferryError)) return true;
  return (error.cause as { code?: unknown } | undefined)?.code === CANCELED;
}
