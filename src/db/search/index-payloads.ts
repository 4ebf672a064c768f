import { JobferryError } from '../../domain/errors.ts';
import type { Database, Statement } from '../connection/database.ts';

const INDEX: Statement = {
  name: 'index-payloads',
  text: `select jobferry_index_payloads($1, $2 * interval '1 ms', p_parse => $3) as indexed`,
};

/**
 * Makes the next payloads searchable, `max` of an account at most, and returns for how many jobs it did so or put them
 * in their account's line; 0 when there are none, when another process is at it, or was less than `pauseMs` ago.
 * @param parse false puts all of them in line, so that this cannot fail because of a payload
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
 * Makes payloads of the account whose turn it is searchable, and returns how many; 0 when none wait, when another
 * process is at it, or was less than `pauseMs` ago.
 * @param giveUp makes them unsearchable for good instead
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

/** Whether a batch failed because of what is in it, as far as one can tell: it took too long, or is refused each time. */
export function isOfBatch(error: unknown): boolean {
  if (!(error instanceof JobferryError)) return true;
  return (error.cause as { code?: unknown } | undefined)?.code === CANCELED;
}
