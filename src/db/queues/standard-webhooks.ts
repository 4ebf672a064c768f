import type { Database, Statement } from '../connection/database.ts';

/** The queues whose deliveries have the headers of Standard Webhooks (docs/decisions/0050). */

// A secret whose time has come signs alone, as at a claim.
const SECRETS: Statement = {
  name: 'signing-secrets-of-queue',
  text: `
    select case when next_signing_secret_at <= jobferry_now() then array[next_signing_secret]
                else array_remove(array[signing_secret, next_signing_secret], null) end as secrets
      from queue where id = $1 and account_id = $2 and deleted_at is null`,
};

/** @returns the secrets that sign deliveries: during a rotation the present one and the next; none without a live queue */
export async function signingSecretsOf(db: Database, accountId: string, queueId: string): Promise<string[]> {
  const row = await db.one<{ secrets: string[] }>(SECRETS, [queueId, accountId]);
  return (row?.secrets ?? []).map((stored) => db.cipher.decrypt(`signing-secret:${queueId}`, stored));
}

export interface StandardWebhookIds {
  /** Differs if the ids differ. */
  digest: string;
  /** Null if the digest is the one that was given. */
  ids: string[] | null;
}

// Polled by every worker process: as long as nothing changes, the answer is the digest alone, however many queues there are.
const IDS: Statement = {
  name: 'standard-webhook-queues',
  text: `
    with present as materialized (
      select coalesce(string_agg(id, ',' order by id), '') as ids from queue where standard_webhooks and deleted_at is null
    ), digested as materialized (
      select ids, encode(sha256(convert_to(ids, 'UTF8')), 'hex') as digest from present
    )
    select digest, case when digest is distinct from $1::text then ids end as ids from digested`,
};

/** @param known the digest of the ids that the process has; null if it has none */
export async function standardWebhookIds(db: Database, known: string | null): Promise<StandardWebhookIds> {
  const row = await db.one<{ digest: string; ids: string | null }>(IDS, [known]);
  if (row === null) throw new Error('the database returned no digest');
  const { digest, ids } = row;
  return { digest, ids: ids === null ? null : ids.split(',').filter((id) => id !== '') };
}
