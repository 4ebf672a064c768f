import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { firstYoungId, type KeptTerms, outlastsRetention } from '../retention/kept.ts';

/** A key that stored texts need. */
interface NeededKey {
  /** Null when any key is enough. */
  keyId: string | null;
  why: string;
}

const TERMS: KeptTerms = {
  now: '(select jobferry_now())',
  retention: `$1 * interval '1 ms'`,
  lifetime: `$2 * interval '1 ms'`,
};

const NEEDED: Statement = {
  name: 'needed-keys',
  text: `
    with recursive secret as (
      select split_part(s.stored, ':', 3) as key_id, count(distinct queue.id) as queues
        from queue cross join lateral (values (signing_secret), (next_signing_secret)) s(stored)
       where starts_with(s.stored, 'enc:') group by 1
    ), alert_secret as (
      select split_part(signing_secret, ':', 3) as key_id, count(*) as rules
        from alert_rule where starts_with(signing_secret, 'enc:') group by 1
    ), payload(key_id) as (
      select min(payload_key) from job where payload_key is not null
      union all
      select (select min(payload_key) from job where payload_key > payload.key_id) from payload
       where payload.key_id is not null
    ), newest as (
      select key_id, jobferry_created_at((select max(id) from job where payload_key = payload.key_id)) as at from payload
       where key_id is not null
    )
    select key_id as "keyId", 'the signing secrets of ' || queues || ' queue(s) are encrypted with it' as why from secret
     union all
    select key_id, 'the signing secrets of ' || rules || ' alert rule(s) are encrypted with it' from alert_secret
     union all
    select key_id, 'payloads are encrypted with it, the last of which is kept until '
                   || jobferry_iso(at + $1 * interval '1 ms')
      from newest where at > jobferry_now() - $1 * interval '1 ms'
     union all
    select key_id, 'payloads of jobs that outlast their retention are encrypted with it'
      from newest where exists (
        select from job j
         where j.payload_key = newest.key_id and j.id < ${firstYoungId(TERMS)} and ${outlastsRetention(TERMS)})
     union all
    select null, 'the queue ' || name || ' encrypts its payloads'
      from (select name from queue where payloads_encrypted and deleted_at is null order by id limit 1) q`,
};

/** @returns the keys that stored texts need; payloads of jobs that are no longer kept need none */
export function neededKeys(db: Database, { retentionMs, lifetimeMs }: Periods): Promise<NeededKey[]> {
  return db.query<NeededKey & Record<string, unknown>>(NEEDED, [retentionMs, lifetimeMs]);
}

/**
 * Checks that the process has all keys that it needs.
 * @returns the keys that stored texts need
 * @throws Error with a message for the operator when one is missing
 */
export async function assertKeys(db: Database, periods: Periods): Promise<NeededKey[]> {
  const needed = await neededKeys(db, periods);
  for (const { keyId, why } of needed) {
    const isThere = keyId === null ? db.cipher.keyIds.length > 0 : db.cipher.knows(keyId);
    if (isThere) continue;
    const what = keyId === null ? 'a key is needed' : `the key with the id ${keyId} is missing`;
    throw new Error(`ENCRYPTION_KEY: ${what}: ${why}`);
  }
  return needed;
}

// A process of an earlier release does not report its keys.
const REPORTED: Statement = {
  name: 'reported-keys',
  text: `select settings -> 'keys' as keys from instance where last_seen_at > jobferry_now() - interval '30 s'`,
};

/** @returns the ids of the keys of each running process; null for one of an earlier release */
export async function keysOfProcesses(db: Database): Promise<(readonly string[] | null)[]> {
  return (await db.query<{ keys: string[] | null }>(REPORTED)).map(({ keys }) => keys);
}

/**
 * @returns the keys that stored texts need and this process lacks, and whether another running process has one of them
 */
export async function lackedKeys(
  db: Database,
  periods: Periods,
): Promise<{ lacked: readonly string[]; isElsewhere: boolean }> {
  const needed = (await neededKeys(db, periods)).flatMap(({ keyId }) => keyId ?? []);
  const lacked = needed.filter((keyId) => !db.cipher.knows(keyId));
  if (lacked.length === 0) return { lacked, isElsewhere: false };
  const others = await keysOfProcesses(db);
  return { lacked, isElsewhere: others.some((keys) => keys?.some((keyId) => lacked.includes(keyId))) };
}
