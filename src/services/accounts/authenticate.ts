import { accountByKeyHash, foreignKeyPrefixes, type KeyHolder, noteKeyUse } from '../../db/accounts.ts';
import { queueName } from '../../db/queues/queues.ts';
import type { Account } from '../../domain/account.ts';
import { labelOfKey } from '../../domain/audit.ts';
import { isId } from '../../domain/id.ts';
import type { Context } from '../context.ts';
import { API_KEY_PREFIX, describeApiKey, hashApiKey, hashWithLimits, isPlausibleApiKey } from './api-key.ts';
import { CACHE_MS, CredentialCache, createUseNotes, inTime } from './credential-cache.ts';

/** Looks up the accounts of API keys, and caches each result for less than a second. */
export function createAuthenticate({ db }: Pick<Context, 'db'>) {
  const noteUse = createUseNotes((keyId) => noteKeyUse(db, keyId));
  const mayBeForeign = createForeignKeys(db);
  const accounts = new CredentialCache<Account>(async (hash) => {
    const holder = await accountByKeyHash(db, [hash, hashWithLimits(hash)]);
    if (holder?.isUseUnnoted === true) noteUse(holder.key.id);
    return holder === null ? null : toAccount(holder);
  });

  return {
    /** Returns the account of an API key; null when the key is malformed, unknown, revoked or expired. */
    async authenticate(apiKey: string): Promise<Account | null> {
      if (!isPlausibleApiKey(apiKey)) return null;
      const hash = hashApiKey(apiKey);
      const cached = accounts.cached(hash);
      if (cached !== undefined) return cached;
      if (accounts.isKnown(hash) || apiKey.startsWith(API_KEY_PREFIX)) return accounts.lookUp(hash);
      return inTime(mayBeForeign(apiKey).then((foreign) => (foreign ? accounts.lookUp(hash) : null)));
    },

    /** Returns the account that `authenticate` would return, if that needs no look-up; null otherwise. */
    authenticated(apiKey: string): Account | null {
      return accounts.present(hashApiKey(apiKey));
    },

    /** Returns the name of a queue, or of the queue of a job; null if the account has none with this id. */
    async queueName(account: Account, of: { queueId: string } | { jobId: string }): Promise<string | null> {
      if (!isId('jobId' in of ? of.jobId : of.queueId)) return null;
      return queueName(db.reading(account.id), account.id, of);
    },

    /**
     * Returns the account that had this key less than a second ago, without a query; null when a look-up is needed.
     * Good enough to decide which requests have to wait, but not to admit a request.
     */
    knownAccount(apiKey: string): Account | null {
      // When the entry is too old, one request must look the key up, so requests with this key do not wait before that.
      return accounts.recent(hashApiKey(apiKey));
    },
  };
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

function toAccount({ id, name, plan, isSuspended, requestsPerSecond, rights, key }: KeyHolder): Account {
  const actor = { type: 'api_key', id: key.id, label: labelOfKey(key) } as const;
  return { id, name, plan, isSuspended, requestsPerSecond, actor, ...(rights === null ? {} : { rights }) };
}
