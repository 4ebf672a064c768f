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

/**
 * @returns payloads of the account's jobs until they reach `bytes` together; the payload that reaches it is included
 */
export async function payloadsWithin(
  db: Database,
  accountId: string,
  ids: readonly string[],
  bytes: number,
): Promise<StoredPayload[]> {
  return db.query<StoredPayload & Record<string, unknown>>(READ, [ids, accountId, Math.max(bytes, 1)]);
}

const ENCRYPTED: Statement = {
  name: 'jobs-that-are-encrypted',
  text: 'select id from job where id = any ($1) and payload_key is not null',
};

/** @returns ids of those of the jobs whose payload and answers are stored encrypted */
export async function encryptedJobs(db: Database, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await db.query<{ id: string }>(ENCRYPTED, [ids])).map(({ id }) => id));
}

/** An encrypted payload can only be decrypted as a whole, so longer ones have no preview. */
const MAX_DECRYPTED = 65_536;
/** Limit of the encrypted payloads of one statement together. */
const MAX_ENCRYPTED = 8 * 1024 * 1024;

// The size of a payload, and the first characters of a long one, are known without reading all of it. Of an encrypted
// one PostgreSQL reads all to return its end, so large ones are left out.
const HEADS: Statement = {
  name: 'payload-heads',
  text: `
    with sized as (
      select id, queue_id, payload, octet_length(payload) as stored, payload_key is not null as encrypted,
             sum(octet_length(payload)) filter (where payload_key is not null and octet_length(payload) <= ${MAX_DECRYPTED * 1.5})
               over (order by id) as encrypted_so_far
        from job where id = any ($1) and account_id = $2
    )
    select id, queue_id as "queueId", stored, encrypted,
           case when encrypted and stored <= ${MAX_DECRYPTED * 1.5} then right(payload, 2) else '' end as tail,
           case when $3 = 0 then ''
                when not encrypted then left(payload, $3)
                when stored <= ${MAX_DECRYPTED * 1.5} and encrypted_so_far <= ${MAX_ENCRYPTED} then payload end as head
      from sized`,
};

interface StoredHead {
  id: string;
  queueId: string;
  /** Number of bytes of the stored text. */
  stored: number;
  encrypted: boolean;
  /** The last two characters of an encrypted text, on which its original size depends; empty if it is too large. */
  tail: string;
  /** The first characters, or all of an encrypted text; null if that is too large. */
  head: string | null;
}

/** @returns sizes and first `characters` of payloads of the account's jobs, as they are stored */
export async function payloadHeads(
  db: Database,
  accountId: string,
  ids: readonly string[],
  characters: number,
): Promise<StoredHead[]> {
  return db.query<StoredHead & Record<string, unknown>>(HEADS, [ids, accountId, characters]);
}
