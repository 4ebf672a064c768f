import { isReadOnly } from './connections.ts';
import type { Database, Statement } from './database.ts';

// The setting is on for a standby, and for a server that was made read-only, by an operator or because of a full disk.
export const WRITABLE: Statement = {
  name: 'writable',
  text: `select current_setting('transaction_read_only') = 'off' as writable`,
};

/** Fails as a write would. */
const REFUSED_IF_READ_ONLY = `
  do $$ begin
    if current_setting('transaction_read_only') = 'on' then raise sqlstate '25006' using message = 'read-only'; end if;
  end $$`;

/** Whether the server of the pool accepts writes. */
export async function isWritable(db: Database): Promise<boolean> {
  if ((await db.one<{ writable: boolean }>(WRITABLE))?.writable === true) return true;
  // After such a refusal the pool replaces the connection. Without it, a process that gets no requests because it is
  // not ready would never notice that new sessions can write again.
  await db.run({ text: REFUSED_IF_READ_ONLY }).catch((error: unknown) => {
    if (!isReadOnly(error)) throw error;
  });
  return false;
}
