import type { Database, Statement } from './database.ts';

// The setting is on for a standby, and for a server that was made read-only, by an operator or because of a full disk.
const WRITABLE: Statement = {
  name: 'writable',
  text: `select current_setting('transaction_read_only') = 'off' as writable`,
};

/** Whether the server of the pool accepts writes. */
export async function isWritable(db: Database): Promise<boolean> {
  return (await db.one<{ writable: boolean }>(WRITABLE))?.writable === true;
}
