import type { Database, Statement } from '../connection/database.ts';

// A secret whose time has come signs alone, as at a claim.
const SECRETS: Statement = {
  name: 'signing-secrets-of-queue',
  text: `
    select case when next_signing_secret_at <= jobferry_now() then array[next_signing_secret]
                else array_remove(array[signing_secret, next_signing_secret], null) end as secrets
      from queue where id = $1 and account_id = $2 and deleted_at is null`,
};

/**
 * @returns the secrets that sign deliveries: during a rotation the present one and the next; none without a live queue
 */
export async function signingSecretsOf(db: Database, accountId: string, queueId: string): Promise<string[]> {
  const row = await db.one<{ secrets: string[] }>(SECRETS, [queueId, accountId]);
  return (row?.secrets ?? []).map((stored) => db.cipher.decrypt(`signing-secret:${queueId}`, stored));
}
