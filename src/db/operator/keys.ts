import { isUnexpired } from '../accounts.ts';
import type { Database, Statement } from '../connection/database.ts';

export interface KeySummary {
  id: string;
  accountId: string;
  name: string | null;
  prefix: string;
  lastFour: string;
  createdAt: Date;
  /** Actor that made it; null if it is not known. */
  createdBy: string | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  /** Empty for a key without limits. */
  scopes: string[];
  /** Empty for all. */
  queues: string[];
  expiresAt: Date | null;
}

const listOf = (condition: string, order: string) => `
    select id, account_id as "accountId", name, prefix, last_four as "lastFour", created_at as "createdAt",
           created_by as "createdBy", last_used_at as "lastUsedAt", revoked_at as "revokedAt", scopes, queues,
           expires_at as "expiresAt"
      from api_key
     where ${condition} and ($2::boolean or revoked_at is null and ${isUnexpired('api_key')})
     order by ${order} limit $3`;

const LIST: Statement = { name: 'operator-keys', text: listOf('id > $1', 'id') };

// A row comparison, so that no plan uses the primary key, which has the keys of all accounts.
const LIST_OF_ACCOUNT: Statement = {
  name: 'operator-keys-of-account',
  text: listOf('(account_id, id) > ($4, $1) and account_id <= $4', 'account_id, id'),
};

/** @returns API keys of an account, or of all if it is null, oldest first */
export function listKeys(
  db: Database,
  accountId: string | null,
  { after, limit, revoked }: { after: string | null; limit: number; revoked: boolean },
): Promise<KeySummary[]> {
  const values = [after ?? '', revoked, limit];
  return accountId === null
    ? db.query<KeySummary & Record<string, unknown>>(LIST, values)
    : db.query<KeySummary & Record<string, unknown>>(LIST_OF_ACCOUNT, [...values, accountId]);
}

/** @returns the id of the account of a key, which may be revoked; null if there is no such key */
export async function keyAccount(db: Database, id: string): Promise<string | null> {
  const row = await db.one<{ id: string }>('select account_id as id from api_key where id = $1', [id]);
  return row?.id ?? null;
}
