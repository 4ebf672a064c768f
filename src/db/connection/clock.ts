import type { Database, Statement } from './database.ts';

const NOW: Statement = { name: 'now', text: 'select jobferry_now() as now' };

/** The database clock in milliseconds: it decides every due time, window and deadline (D35). */
export async function databaseTime(db: Database): Promise<number> {
  const row = await db.one<{ now: Date }>(NOW);
  if (row === null) throw new Error('the clock did not answer');
  return row.now.getTime();
}

const REMEMBERED_MS = 1000;
const remembered = new WeakMap<Database, { now: Promise<number>; askedAt: number }>();

/**
 * The same for what is shown and not decided: asked once a second, and carried on by the monotonic clock
 * in between, behind by no more than it took to ask.
 */
export async function recentDatabaseTime(db: Database): Promise<number> {
  const askedAt = performance.now();
  let known = remembered.get(db);
  if (known === undefined || askedAt - known.askedAt > REMEMBERED_MS) {
    known = { now: databaseTime(db), askedAt };
    remembered.set(db, known);
    known.now.catch(() => remembered.delete(db));
  }
  return (await known.now) + (performance.now() - known.askedAt);
}
