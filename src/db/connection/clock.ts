import type { Database, Statement } from './database.ts';

const NOW: Statement = { name: 'now', text: 'select jobferry_now() as now' };

/** @returns the database time in milliseconds; it decides every due time, window and deadline (D35) */
export async function databaseTime(db: Database): Promise<number> {
  const row = await db.one<{ now: Date }>(NOW);
  if (row === null) throw new Error('jobferry_now returned no row');
  return row.now.getTime();
}

const REMEMBERED_MS = 1000;
const remembered = new WeakMap<Database, { now: Promise<number>; readAt: number }>();

/**
 * Returns the database time for display, in milliseconds. It is read at most once a second, and calculated with the
 * monotonic clock in between. It may be behind by the duration of the query.
 */
export async function recentDatabaseTime(db: Database): Promise<number> {
  const readAt = performance.now();
  let known = remembered.get(db);
  if (known === undefined || readAt - known.readAt > REMEMBERED_MS) {
    known = { now: databaseTime(db), readAt };
    remembered.set(db, known);
    known.now.catch(() => remembered.delete(db));
  }
  return (await known.now) + (performance.now() - known.readAt);
}
