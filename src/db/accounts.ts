import { type Actor, type Author, OPERATOR } from '../domain/audit.ts';
import type { KeyRights } from '../domain/key-rights.ts';
import { actorJson, audit } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';
import type { PrismaClient } from './connection/prisma.ts';
import { exclusively, guarded } from './connection/transactions.ts';
import { MARK_OPERATORS_ACCOUNT, operatorsAccountId } from './operator-account.ts';
import { MIGRATION_LOCK } from './schema/migrate.ts';

interface AccountRow {
  id: string;
  name: string;
  plan: string;
}

interface NewApiKey {
  hash: string;
  prefix: string;
  lastFour: string;
}

/** @returns SQL: whether the API key `alias`, which may be absent, has not expired */
export function isUnexpired(alias: string): string {
  return `(${alias}.expires_at is null or ${alias}.expires_at > jobferry_now())`;
}

// A separate statement from NOTE_USE: a read-only database would refuse a statement that can write.
const BY_KEY: Statement = {
  name: 'account-by-key',
  text: `
    select account.id, account.name, account.plan, account.suspended_at is not null as "isSuspended",
           account.requests_per_second as "requestsPerSecond",
           json_build_object('id', key.id, 'name', key.name, 'prefix', key.prefix, 'lastFour', key.last_four) as key,
           key.scopes, key.queues, key.expires_at as "expiresAt",
           key.last_used_at is null or key.last_used_at < jobferry_now() - interval '1 minute' as "isUseUnnoted"
      from api_key key join account on account.id = key.account_id
     where key.hash in ($1, $2) and key.revoked_at is null and ${isUnexpired('key')}`,
};

/** An account with the API key that identified it. */
export interface KeyHolder extends AccountRow {
  isSuspended: boolean;
  requestsPerSecond: number | null;
  key: { id: string; name: string | null; prefix: string; lastFour: string };
  /** Null for a key without limits. */
  rights: KeyRights | null;
  /** True when the last recorded use of the key is more than a minute old. */
  isUseUnnoted: boolean;
}

/** @param hashes of the key: of one without limits, and of one with limits */
export async function accountByKeyHash(db: Database, hashes: readonly [string, string]): Promise<KeyHolder | null> {
  const row = await db.one<Omit<KeyHolder, 'rights'> & KeyRights>(BY_KEY, [...hashes]);
  if (row === null) return null;
  const { scopes, queues, expiresAt, ...holder } = row;
  return { ...holder, rights: scopes.length === 0 ? null : { scopes, queues, expiresAt } };
}

const NOTE_USE: Statement = {
  name: 'note-key-use',
  text: `update api_key set last_used_at = jobferry_now()
          where id = $1 and (last_used_at is null or last_used_at < jobferry_now() - interval '1 minute')`,
};

/** Records that the key is in use, at most once a minute. */
export async function noteKeyUse(db: Database, keyId: string): Promise<void> {
  await db.query(NOTE_USE, [keyId]);
}

const MAX_FOREIGN_PREFIXES = 100;

// A constant instead of a parameter: otherwise the planner cannot use the partial index of such keys.
const FOREIGN_PREFIXES: Statement = {
  name: 'foreign-key-prefixes',
  text: `
    select distinct prefix from api_key
     where revoked_at is null and prefix not like 'jf\\_%' limit ${MAX_FOREIGN_PREFIXES}`,
};

/**
 * Returns the prefixes of the keys that Jobferry did not generate (`BOOTSTRAP_API_KEY`).
 * @returns null when there are too many
 */
export async function foreignKeyPrefixes(db: Database): Promise<Set<string> | null> {
  const rows = await db.query<{ prefix: string }>(FOREIGN_PREFIXES);
  return rows.length < MAX_FOREIGN_PREFIXES ? new Set(rows.map(({ prefix }) => prefix)) : null;
}

export async function accountsByPlan(db: Database): Promise<{ plan: string; accounts: number }[]> {
  return db.query('select plan, count(*) as accounts from account group by plan order by plan');
}

export async function createAccount(
  prisma: PrismaClient,
  input: { name: string; plan: string },
  actor: Actor,
): Promise<AccountRow> {
  return guarded(() =>
    prisma.$transaction(async (tx) => {
      // Two that are created at the same moment, or one beside a first start, would both be marked.
      await tx.$executeRaw`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
      const account = await tx.account.create({ data: input, select: { id: true, name: true, plan: true } });
      // The first account of a database that no `serve` has used yet.
      await tx.$executeRawUnsafe(MARK_OPERATORS_ACCOUNT);
      const { id, name, plan } = account;
      const target = { targetType: 'account', targetId: id, targetName: name } as const;
      await audit(tx, { accountId: id, actor }, { action: 'account.create', ...target, after: { name, plan } });
      return account;
    }),
  );
}

/**
 * Stores a new key.
 * @param rights its limits; null for none
 * @param check receives the number of the account's keys that are neither revoked nor expired, and throws to refuse
 * @throws JobferryError `not_found` when there is no such account
 */
export async function createApiKey(
  prisma: PrismaClient,
  by: Author,
  key: NewApiKey & { name: string | null },
  rights: KeyRights | null,
  check: (present: number) => void,
): Promise<{ id: string }> {
  return exclusively(prisma, by.accountId, async (tx) => {
    const [present] = await tx.$queryRaw<{ keys: number }[]>`
      select count(*)::integer as keys from api_key
       where account_id = ${by.accountId} and revoked_at is null and (expires_at is null or expires_at > jobferry_now())`;
    check(present?.keys ?? 0);
    const limits = rights === null ? {} : { ...rights, scopes: [...rights.scopes], queues: [...rights.queues] };
    const data = { accountId: by.accountId, createdBy: by.actor.label, ...key, ...limits };
    const created = await tx.apiKey.create({ data, select: { id: true } });
    const { name, prefix, lastFour } = key;
    await audit(tx, by, {
      action: 'api_key.create',
      targetType: 'api_key',
      targetId: created.id,
      targetName: name,
      after: { name, prefix, lastFour, ...limits },
    });
    return created;
  });
}

// The audit log's facts about a key of the surrounding query.
const KEY_FACTS = `
  jsonb_build_object('name', name, 'prefix', prefix, 'lastFour', last_four)
    || case when cardinality(scopes) = 0 then '{}'
            else jsonb_build_object('scopes', scopes, 'queues', queues, 'expiresAt', jobferry_iso(expires_at)) end`;

const REVOKE: Statement = {
  name: 'revoke-api-key',
  text: `
    with revoked as (
      update api_key set revoked_at = jobferry_now()
       where id = $1 and ($2::text is null or account_id = $2) and revoked_at is null
      returning id, account_id, name, prefix, last_four, scopes, queues, expires_at
    )
    select id, jobferry_audit(account_id, $3::json, 'api_key.revoke', 'api_key', id, name, ${KEY_FACTS}) from revoked`,
};

/**
 * @param accountId null for a key of any account
 * @returns false when there is no such key, or it was revoked before
 */
export async function revokeApiKey(
  db: Database,
  actor: Actor,
  accountId: string | null,
  keyId: string,
): Promise<boolean> {
  return (await db.query(REVOKE, [keyId, accountId, actorJson(actor)])).length > 0;
}

/**
 * Creates the operator's account if there is no account, marks one if none is marked, and stores a key that is known in
 * advance. Must be called under the migration lock, so that processes that start at the same time do it one after the
 * other.
 * @param newKey creates the key of the first account; called only if one is needed
 * @returns the first account's key when it was created just now; otherwise null
 */
export async function bootstrapAccount(
  db: Database,
  options: { plan: string; knownKey: NewApiKey | null; newKey: () => { key: string; stored: NewApiKey } },
): Promise<string | null> {
  const marked = await db.one<{ id: string; name: string }>(MARK_OPERATORS_ACCOUNT);
  if (marked !== null) {
    const { id: accountId, name } = marked;
    db.log.warn({ accountId, name }, "no account was marked as the operator's: this one is from now on");
  }
  const present = await operatorsAccountId(db);
  const accountId = present ?? (await createOperatorsAccount(db, options.plan));
  if (options.knownKey !== null) {
    await insertKey(db, accountId, options.knownKey);
    return null;
  }
  if (present !== null) return null;
  const { key, stored } = options.newKey();
  await insertKey(db, accountId, stored);
  return key;
}

async function createOperatorsAccount(db: Database, plan: string): Promise<string> {
  const made = await db.one<{ id: string }>(
    `with made as (insert into account (name, plan, is_operator) values ('default', $1, true) returning id, name, plan)
     select id, jobferry_audit(id, $2, 'account.create', 'account', id, name, null,
                               jsonb_build_object('name', name, 'plan', plan)) from made`,
    [plan, actorJson(OPERATOR)],
  );
  if (made === null) throw new Error("the operator's account was not created");
  return made.id;
}

async function insertKey(db: Database, accountId: string, key: NewApiKey): Promise<void> {
  await db.query(
    `with made as (
       insert into api_key (account_id, hash, prefix, last_four, created_by) values ($1, $2, $3, $4, $6)
       on conflict (hash) do nothing
       returning id, account_id, name, prefix, last_four, scopes, queues, expires_at
     )
     select jobferry_audit(account_id, $5, 'api_key.create', 'api_key', id, name, null, ${KEY_FACTS}) from made`,
    [accountId, key.hash, key.prefix, key.lastFour, actorJson(OPERATOR), OPERATOR.label],
  );
}
