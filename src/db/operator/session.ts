import type pg from 'pg';
import { type Address, createClient } from '../connection/address.ts';
import type { Database } from '../connection/database.ts';
import { KEEP_ALIVE } from '../connection/keep-alive.ts';

/**
 * A statement reads or writes a few rows, so a minute is only for a machine that stalls. A process that was suspended
 * must not keep the server from removing old row versions for ever.
 */
const LIMITS = '-c statement_timeout=60s -c idle_in_transaction_session_timeout=5min';

/** Calls `work` with a connection of its own for one long transaction, to a server that the process accepts. */
export async function inSession<T>(
  { db, url, name }: { db: Database; url: Address; name: string },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = createClient(url, {
    application_name: name,
    ...KEEP_ALIVE,
    options: `${KEEP_ALIVE.options} ${LIMITS}`,
  });
  client.on('error', () => undefined); // the running statement fails, which is enough
  await client.connect();
  try {
    await db.origin.check(client);
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
