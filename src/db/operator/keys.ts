import { isUnexpired } from '../accounts.ts';
import type { Database, Statement } from '../connection/database.ts';

export interface KeySummary {
  id: string;
  accountId: string;
  name: string | null;
  prefix: string;
  lastFour: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  /** Empty for a key without limits. */
  scopes: string[];
  /** Empty for all. */
  queues: string[];
  expiresAt: Date | null;
}

const LIST: Statement = {
  name: 'operator-keys',
  text: `
    select id, account_id as "accountId", name, prefix, last_four as "lastFour", created_at as "createdAt",
           last_used_at as "lastUsedAt", revoked_at as "revokedAt", scopes, queues,
           expires_at as "expiresAt"
      from api_key
     where ($1::text is null or account_id = $1) and ($2::text is null or id > $2)
       and ($3::boolean or revoked_at is null and ${isUnexpired('api_key')})
     order by id limit $4`,
};

/** @returns API keys of an account, or of all if it is null, oldest first */
export function listKeys(
  db: Database,
  accountId: string | null,
  { after, limit, revoked }: { after: string | null; limit: number; revoked: boolean },
): Promise<KeySummary[]> {
  return db.query<KeySummary & Record<string, unknown>>(LIST, [accountId, after, revoked, limit]);
}
