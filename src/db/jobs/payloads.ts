import type { Database, Statement } from '../connection/database.ts';

// PostgreSQL knows the sizes without reading the payloads, which may be a megabyte each.
const READ: Statement = {
  name: 'payloads-within',
  text: `
    select id, queue_id as "queueId", case when before < $3 then payload end as payload
      from (select id, queue_id, payload, sum(octet_length(payload)) over (order by id) - octet_length(payload) as before
              from job where id = any ($1) and account_id = $2) sized`,
};

interface StoredPayload {
  id: string;
  queueId: string;
  /** The stored text, maybe encrypted; null when it exceeded the limit. */
  payload: string | null;
}

/** @returns payloads of the account's jobs until they reach `bytes` together; the payload that reaches it is included */
export async function payloadsWithin(
  db: Database,
  accountId: string,
  ids: readonly string[],
  bytes: number,
): Promise<StoredPayload[]> {
  return db.query<StoredPayload & Record<string, unknown>>(READ, [ids, accountId, Math.max(bytes, 1)]);
}
