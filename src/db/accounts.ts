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
      select id, account_id, last_used_at from api_key where hash = $1 and revoked_at is null
    ), marked as (
      update api_key set last_used_at = jobferry_now() from key
       where api_key.id = key.id and (key.last_used_at is null or key.last_used_at < jobferry_now() - interval '1 minute')
    )
    select account.id, account.name, account.plan from key join account on account.id = key.account_id`,
};

export async function accountByKeyHash(db: Database, hash: string): Promise<AccountRow | null> {
  return db.one<AccountRow>(BY_KEY, [hash]);
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
 * The first account with its key; both only when they are missing, so that it can run at every start
 * and in several processes at once. Answers whether the key is new.
 */
export async function bootstrapAccount(db: Database, plan: string, key: NewApiKey | null): Promise<boolean> {
  const row = await db.one<{ created: number }>(
    `with lock as materialized (select pg_advisory_xact_lock(hashtextextended('jobferry bootstrap', 0))),
          wanted as (select $1::text as plan, $2::text as hash, $3::text as prefix, $4::text as last_four from lock),
          present as materialized (select id from account order by id limit 1),
          account as (
            insert into account (name, plan) select 'default', plan from wanted
             where hash is not null and not exists (select from present) returning id
          ), key as (
            insert into api_key (account_id, hash, prefix, last_four)
            select coalesce((select id from present), (select id from account)), hash, prefix, last_four
              from wanted where hash is not null
                on conflict (hash) do nothing returning 1
          )
     select count(*) as created from key`,
    [plan, key?.hash ?? null, key?.prefix ?? null, key?.lastFour ?? null],
  );
  return row?.created === 1;
}

export async function hasAccounts(db: Database): Promise<boolean> {
  return (await db.one('select from account limit 1')) !== null;
}

/** Prisma's errors become the ones of the pool (`Database.query`). */
export async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw translated(error);
  }
}
