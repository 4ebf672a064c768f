import { accountByKeyHash, type KeyHolder } from '../db/accounts.ts';
import { hashApiKey, isPlausibleApiKey } from './api-key.ts';
import type { Context } from './context.ts';
import type { Account } from './index.ts';

/** Below the second in which every process must refuse a revoked key (reliability I-33). */
const CACHE_MS = 900;
const MAX_CACHED = 10_000;

/** Finds the account of an API key; null when it is malformed, unknown or revoked. */
export function createAuthenticate(context: Pick<Context, 'db'>): (apiKey: string) => Promise<Account | null> {
  const cache = new Map<string, { account: Promise<Account | null>; until: number }>();

  return async (apiKey) => {
    if (!isPlausibleApiKey(apiKey)) return null;
    const hash = hashApiKey(apiKey);
    const cached = cache.get(hash);
    if (cached !== undefined && cached.until > performance.now()) return cached.account;

    if (cache.size >= MAX_CACHED) cache.clear();
    // The clock starts before the query: what it answers is at least as new as that.
    const entry = { account: accountByKeyHash(context.db, hash).then(toAccount), until: performance.now() + CACHE_MS };
    cache.set(hash, entry);
    entry.account.catch(() => {
      if (cache.get(hash) === entry) cache.delete(hash);
    });
    return entry.account;
  };
}

function toAccount(holder: KeyHolder | null): Account | null {
  if (holder === null) return null;
  const { key, ...account } = holder;
  return { ...account, actor: { type: 'api_key', id: key.id, label: `${key.prefix}…${key.lastFour}` } };
}
