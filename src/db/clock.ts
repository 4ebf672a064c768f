import type { Database, Statement } from './database.ts';

const NOW: Statement = { name: 'now', text: 'select jobferry_now() as now' };

/** The database clock in milliseconds: it decides every due time, window and deadline (D35). */
export async function databaseTime(db: Database): Promise<number> {
  const row = await db.one<{ now: Date }>(NOW);
  if (row === null) throw new Error('the clock did not answer');
  return row.now.getTime();
}
