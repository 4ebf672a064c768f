import type { Periods } from '../../domain/periods.ts';
import { ENCRYPTED } from '../../domain/signing-secret.ts';
import { UnreadableError } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import { assertKeys, keysOfProcesses } from './needed-keys.ts';

/** Queues per batch. A batch locks the rows of its queues for a moment, and claims skip them meanwhile. */
const BATCH = 100;

/**
 * Runs at the start of a process, and repeatedly while the first key does not encrypt yet. Checks that the process has
 * all keys that it needs, chooses the key that encrypts, and encrypts the signing secrets of queues and alert rules
 * that are not encrypted with it. At the start it must be called under the migration lock, so that processes that start
 * at the same time do it one after the other.
 * @param periods payloads of jobs that are no longer kept need no key
 * @returns the number of updated queues
 * @throws Error with a message for the operator when a key is missing
 */
export async function encryptStored(db: Database, periods: Periods): Promise<number> {
  await chooseKey(db, periods);
  return encryptTables(db, `enc:v1:${db.cipher.keyId}:`);
}

/**
 * Encrypts the signing secrets that a process without a key has stored since. Those with another key stay as they are:
 * during a rotation of keys two processes would encrypt them again and again, each with its own first key.
 * @returns the number of updated queues
 */
export function encryptPlain(db: Database): Promise<number> {
  return encryptTables(db, ENCRYPTED);
}

/** @param prefix of secrets that stay as they are */
async function encryptTables(db: Database, prefix: string): Promise<number> {
  if (db.cipher.keyId === null) return 0;
  await encryptTable(db, ALERT_RULES, prefix);
  return encryptTable(db, QUEUES, prefix);
}

/**
 * Checks that the process has all keys that it needs, and makes the first of its keys encrypt that every running
 * process has. What a new key encrypts cannot be delivered by a worker without it. A key that stored texts need already
 * is one that all have: without it no process starts.
 * @throws Error with a message for the operator when a key is missing
 */
export async function chooseKey(db: Database, periods: Periods): Promise<void> {
  const needed = new Set((await assertKeys(db, periods)).map(({ keyId }) => keyId));
  const { cipher } = db;
  if (cipher.firstKeyId === null) return;
  const others = await keysOfProcesses(db);
  const isEverywhere = (keyId: string) => needed.has(keyId) || others.every((keys) => keys?.includes(keyId));
  cipher.encryptWith(cipher.keyIds.find(isEverywhere) ?? null);
}

async function encryptTable(db: Database, table: SecretTable, prefix: string): Promise<number> {
  let written = 0;
  let after = '';
  for (;;) {
    const batch = await db.query<SecretRow>(table.otherwiseStored, [prefix, after, BATCH]);
    written += await rewrite(db, table, batch, prefix);
    const last = batch.at(-1);
    if (last === undefined || batch.length < BATCH) return written;
    after = last.id;
  }
}

interface SecretRow extends Record<string, unknown> {
  id: string;
  signing_secret: string;
  next_signing_secret: string | null;
}

interface SecretTable {
  /** The log line about a row whose secret cannot be read. */
  unreadable: { idName: string; message: string };
  otherwiseStored: Statement;
  rewrite: Statement;
}

// Includes tombstones: their secrets must be protected, too.
const QUEUES: SecretTable = {
  unreadable: { idName: 'queueId', message: 'a signing secret cannot be read: rotate it' },
  otherwiseStored: {
    name: 'secrets-otherwise-stored',
    text: `
      select id, signing_secret, next_signing_secret from queue
       where id > $2 and (not starts_with(signing_secret, $1) or not starts_with(next_signing_secret, $1))
       order by id limit $3`,
  },
  // Replaces by value: meanwhile a claim may have made the next secret the present one,
  // or a client may have rotated it.
  rewrite: {
    name: 'rewrite-secrets',
    text: `
      with item as materialized (
        select q.id, i.replacements from json_to_recordset($1::json) as i(id text, replacements jsonb)
          join queue q on q.id = i.id order by q.id for no key update of q
      )
      update queue set
        signing_secret = coalesce(item.replacements ->> signing_secret, signing_secret),
        next_signing_secret = coalesce(item.replacements ->> next_signing_secret, next_signing_secret)
        from item where queue.id = item.id
      returning queue.id`,
  },
};

const ALERT_RULES: SecretTable = {
  unreadable: { idName: 'ruleId', message: 'the signing secret of an alert rule cannot be read: make the rule again' },
  otherwiseStored: {
    name: 'alert-secrets-otherwise-stored',
    text: `
      select id, signing_secret, null as next_signing_secret from alert_rule
       where id > $2 and not starts_with(signing_secret, $1) order by id limit $3`,
  },
  rewrite: {
    name: 'rewrite-alert-secrets',
    text: `
      update alert_rule set signing_secret = coalesce(i.replacements ->> signing_secret, signing_secret)
        from json_to_recordset($1::json) as i(id text, replacements jsonb) where alert_rule.id = i.id
      returning alert_rule.id`,
  },
};

async function rewrite(db: Database, table: SecretTable, rows: readonly SecretRow[], prefix: string): Promise<number> {
  const items = rows.flatMap((row) => {
    const stored = [row.signing_secret, row.next_signing_secret].filter((secret) => secret !== null);
    const outdated = stored.filter((secret) => !secret.startsWith(prefix));
    try {
      const replacements = outdated.map((secret): [string, string] => {
        const scope = `signing-secret:${row.id}` as const;
        return [secret, db.cipher.encrypt(scope, db.cipher.decrypt(scope, secret))];
      });
      return [{ id: row.id, replacements: Object.fromEntries(replacements) }];
    } catch (error) {
      // A damaged secret must not stop the service for all other queues. Rotating it repairs it.
      if (!(error instanceof UnreadableError)) throw error;
      const { idName, message } = table.unreadable;
      db.log.warn({ err: error, [idName]: row.id }, message);
      return [];
    }
  });
  return items.length === 0 ? 0 : (await db.query(table.rewrite, [JSON.stringify(items)])).length;
}
