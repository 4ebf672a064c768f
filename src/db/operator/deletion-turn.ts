import type { Address } from '../connection/address.ts';
import type { Database } from '../connection/database.ts';
import { inSession } from './session.ts';

/**
 * Calls `work` unless another process deletes the same account. The lock is one of a session, so it ends with the
 * process that has it, however that ends.
 * @param work gets a function that tells whether this process still has the lock
 * @returns null, without a call of `work`, if another process deletes the account
 */
export async function aloneDeleting<T>(
  { db, url }: { db: Database; url: Address },
  accountId: string,
  work: (isAlone: () => boolean) => Promise<T>,
): Promise<T | null> {
  return inSession({ db, url, name: 'jobferry account delete' }, async (client) => {
    let isConnected = true;
    client.once('error', () => {
      isConnected = false;
    });
    client.once('end', () => {
      isConnected = false;
    });
    const { rows } = await client.query<{ alone: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('jobferry account delete ' || $1, 0)) as alone`,
      [accountId],
    );
    return rows[0]?.alone === true ? work(() => isConnected) : null;
  });
}
