import { JobferryError } from '../domain/errors.ts';
import { type Database, type Statement, translated } from './database.ts';
import type { PrismaClient } from './prisma.ts';

export interface AccountRow {
  id: string;
  name: string;
  plan: string;
}

export interface NewApiKey {
  hash: string;
  prefix: string;
  lastFour: string;
}

// Marks the key as used at most once a minute: a row that every request rewrites would be a hot spot.
const BY_KEY: Statement = {
  name: 'account-by-key',
  text: `
    with key as (
      select id, account_id, prefix, last_four, last_used_at from api_key where hash = $1 and revoked_at is null
    ), marked as (
      update api_key set last_used_at = jobferry_now() from key
       where api_key.id = key.id and (key.last_used_at is null or key.last_used_at < jobferry_now() - interval '1 minute')
    )
    select account.id, account.name, account.plan, key.id as key_id, key.prefix, key.last_four
      from key join account on account.id = key.account_id`,
};

/** An account as one of its keys found it. */
export interface KeyHolder extends AccountRow {
  key: { id: string; prefix: string; lastFour: string };
}

export async function accountByKeyHash(db: Database, hash: string): Promise<KeyHolder | null> {
  const row = await db.one<AccountRow & { key_id: string; prefix: string; last_four: string }>(BY_KEY, [hash]);
  if (row === null) return null;
  const { key_id: id, prefix, last_four: lastFour, ...account } = row;
  return { ...account, key: { id, prefix, lastFour } };
}

export async function createAccount(prisma: PrismaClient, input: { name: string; plan: string }): Promise<AccountRow> {
  return guarded(() => prisma.account.create({ data: input, select: { id: true, name: true, plan: true } }));
}

/** @throws JobferryError `not_found` when there is no such account */
export async function createApiKey(prisma: PrismaClient, accountId: string, key: NewApiKey): Promise<{ id: string }> {
  return guarded(async () => {
    const account = await prisma.account.findUnique({ where: { id: accountId }, select: { id: true } });
    if (account === null) throw new JobferryError('not_found', `no account ${accountId}`);
    return prisma.apiKey.create({ data: { accountId, ...key }, select: { id: true } });
  });
}

/** True when there was such a key that was not yet revoked. */
export async function revokeApiKey(db: Database, keyId: string): Promise<boolean> {
  const text = 'update api_key set revoked_at = jobferry_now() where id = $1 and revoked_at is null returning id';
  return (await db.query(text, [keyId])).length > 0;
}

/**
 * Makes sure that there is an account, and that a key known in advance works. To be called under the
 * migration lock, so that processes which start together do it one after the other.
 * @param newKey makes the key for a first account; called only then
 * @returns the first account's key when it was made just now
 */
export async function bootstrapAccount(
  db: Database,
  options: { plan: string; knownKey: NewApiKey | null; newKey: () => { key: string; stored: NewApiKey } },
): Promise<string | null> {
  const present = await db.one<{ id: string }>('select id from account order by id limit 1');
  const account =
    present ??
    (await db.one<{ id: string }>(`insert into account (name, plan) values ('default', $1) returning id`, [
      options.plan,
    ]));
  if (account === null) throw new Error('the first account was not created');
  if (options.knownKey !== null) {
    await insertKey(db, account.id, options.knownKey);
    return null;
  }
  if (present !== null) return null;
  const { key, stored } = options.newKey();
  await insertKey(db, account.id, stored);
  return key;
}

async function insertKey(db: Database, accountId: string, key: NewApiKey): Promise<void> {
  await db.query(
    'insert into api_key (account_id, hash, prefix, last_four) values ($1, $2, $3, $4) on conflict (hash) do nothing',
    [accountId, key.hash, key.prefix, key.lastFour],
  );
}

/** Prisma's errors become the ones of the pool (`Database.query`). */
export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translated(error);
  }
}
