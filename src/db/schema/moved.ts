import type { Database, Statement } from '../connection/database.ts';

/** The mark of a database that `backup --final` has moved to another place. No process serves from it. */

const MARK: Statement = {
  name: 'mark-moved',
  text: 'update schema_release set moved_at = case when $1::boolean then jobferry_now() end',
};
const READ: Statement = { name: 'moved-at', text: 'select moved_at as "movedAt" from schema_release' };

export async function markMoved(db: Database, isMoved: boolean): Promise<void> {
  await db.query(MARK, [isMoved]);
}

/** @throws Error with a message for the operator if the database was moved to another place */
export async function assertNotMoved(db: Database): Promise<void> {
  const movedAt = (await db.one<{ movedAt: Date | null }>(READ))?.movedAt ?? null;
  if (movedAt === null) return;
  throw new Error(
    `this database was moved to another place at ${movedAt.toISOString()} (\`backup --final\`), and nothing may be published or ` +
      'delivered from here any more: start the service on the other database. Only if that one was never used: ' +
      'update schema_release set moved_at = null',
  );
}
