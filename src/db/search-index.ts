import type { Database, Statement } from './database.ts';

const INDEX: Statement = {
  name: 'index-payloads',
  text: `select jobferry_index_payloads($1, $2 * interval '1 ms') as indexed`,
};

/**
 * Makes the next payloads searchable, `max` at most. Answers how many; 0 when there are none, when another
 * process is at it, or was less than `pauseMs` ago.
 */
export async function indexPayloads(db: Database, max: number, pauseMs = 0): Promise<number> {
  const row = await db.one<{ indexed: number }>(INDEX, [max, pauseMs]);
  return row?.indexed ?? 0;
}
