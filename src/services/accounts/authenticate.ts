import { accountByKeyHash, foreignKeyPrefixes, type KeyHolder, noteKeyUse } from '../../db/accounts.ts';
import { FairTurns } from '../../db/connection/fair-turns.ts';
import type { Account } from '../../domain/account.ts';
import type { Context } from '../context.ts';
import { API_KEY_PREFIX, describeApiKey, hashApiKey, isPlausibleApiKey } from './api-key.ts';

/** Lifetime of a cached account, in milliseconds. Every process must refuse a revoked key within a second (I-33). */
const CACHE_MS = 900;
const MAX_CACHED = 10_000;
/** Bounds of the look-ups of unknown keys: these must not take the connections that known keys need. */
const STRANGERS = { atOnce: 2, atOnceOfOne: 2, waiting: 500, waitingOfOne: 500, maxWaitMs: 2000 };
const NOTE_USE_EVERY_MS = 60_000;

interface Cached {
  account: Promise<Account | null>;
  /** The account that this look-up or the one before it returned; null when there was none. */
  found: Account | null;
  until: number;
}

/** Looks up the accounts of API keys, and caches each result for less than a second. */
export function createAuthenticate({ db }: Pick<Context, 'db'>) {
  const good = new Map<string, Cached>();
  /** Keys without an account, and keys whose first look-up is still running. */
  const others = new Map<string, Cached>();
  const strangers = new FairTurns(STRANGERS);
  const mayBeForeign = createForeignKeys(db);
  const noteUse = createUseNotes(db);

  const lookUp = async (hash: string, cached: Cached): Promise<Account | null> => {
    // The time is taken before the query, so the result is at least as new as that.
    cached.until = performance.now() + CACHE_MS;
    const holder = await accountByKeyHash(db, hash);
    if (holder === null) {
      good.delete(hash);
      keep(others, hash, cached);
      return null;
    }
    others.delete(hash);
    keep(good, hash, cached);
    if (holder.isUseUnnoted) noteUse(holder.key.id);
    cached.found = toAccount(holder);
    return cached.found;
  };

  return {
    /** Returns the account of an API key; null when the key is malformed, unknown or revoked. */
    async authenticate(apiKey: string): Promise<Account | null> {
      if (!isPlausibleApiKey(apiKey)) return null;
      const hash = hashApiKey(apiKey);
      const known = good.get(hash);
      const present = known ?? others.get(hash);
      if (present !== undefined && present.until > performance.now()) return present.account;
      if (!known && !apiKey.startsWith(API_KEY_PREFIX) && !(await mayBeForeign(apiKey))) return null;

      const found = known?.found ?? null;
      const cached: Cached = { account: Promise.resolve(null), found, until: Number.POSITIVE_INFINITY };
      const place = known === undefined ? others : good;
      keep(place, hash, cached);
      cached.account = known ? lookUp(hash, cached) : strangers.run('', () => lookUp(hash, cached));
      cached.account.catch(() => {
        // The next request looks the key up again. A known key stays known.
        cached.until = 0;
      });
      return cached.account;
    },

    /**
     * Returns the account that had this key less than a second ago, without a query; null when a look-up is needed.
     * Good enough to decide which requests have to wait, but not to admit a request.
     */
    knownAccount(apiKey: string): Account | null {
      // When the entry is too old, one request must look the key up, so requests with this key do not wait before that.
      const known = good.get(hashApiKey(apiKey));
      return known !== undefined && known.until > performance.now() ? known.found : null;
    },
  };
}

/** A full cache drops its oldest entry only. If it dropped all, every key would have to be looked up again at once. */
function keep(place: Map<string, Cached>, hash: string, cached: Cached): void {
  place.delete(hash);
  place.set(hash, cached);
  const [oldest] = place.keys();
  if (place.size > MAX_CACHED && oldest !== undefined) place.delete(oldest);
}

/** Whether any key without our prefix begins like this one. The prefixes are read from the database once a second. */
function createForeignKeys(db: Context['db']): (apiKey: string) => Promise<boolean> {
  let known = { prefixes: Promise.resolve<Set<string> | null>(null), until: 0 };
  return async (apiKey) => {
    if (known.until < performance.now()) {
      const read = { prefixes: foreignKeyPrefixes(db), until: performance.now() + CACHE_MS };
      known = read;
      read.prefixes.catch(() => {
        read.until = 0;
      });
    }
    const prefixes = await known.prefixes;
    return prefixes === null || prefixes.has(describeApiKey(apiKey).prefix);
  };
}

/**
 * Records the use of a key outside of the request, once a minute: a row that every request rewrites would be a hot
 * spot.
 */
function createUseNotes(db: Context['db']): (keyId: string) => void {
  const notedAt = new Map<string, number>();
  return (keyId) => {
    const now = performance.now();
    if (now - (notedAt.get(keyId) ?? Number.NEGATIVE_INFINITY) < NOTE_USE_EVERY_MS) return;
    if (notedAt.size >= MAX_CACHED) notedAt.clear();
    notedAt.set(keyId, now);
    // If the database is read-only or unreachable, the use is not recorded, and no request fails.
    noteKeyUse(db, keyId).catch(() => undefined);
  };
}

function toAccount({ id, name, plan, key }: KeyHolder): Account {
  return { id, name, plan, actor: { type: 'api_key', id: key.id, label: `${key.prefix}…${key.lastFour}` } };
}
