import type { Database, Statement } from './database.ts';

// A standby, and a server that an operator or a full disk has made read-only, have it on.
const WRITABLE: Statement = {
  name: 'writable',
  text: `select current_setting('transaction_read_only') = 'off' as writable`,
};

/** Whether the server that the pool leads to takes writes. */
export async function isWritable(db: Database): Promise<boolean> {
  return (await db.one<{ writable: boolean }>(WRITABLE))?.writable === true;
}
