import { createApiKey, revokeApiKey } from '../../db/accounts.ts';
import { recentDatabaseTime } from '../../db/connection/clock.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { assertNoLongerThan, type RequestedRights, rightsOf } from '../../domain/key-rights.ts';
import { LIMITS } from '../../domain/queue.ts';
import { isStorableText } from '../../domain/text.ts';
import type { Context } from '../context.ts';
import { describeApiKey, generateApiKey } from './api-key.ts';

/** Creates and revokes API keys of the client's account. Each change is written to the audit log in the same commit. */
export function createKeys(context: Pick<Context, 'db' | 'prisma'>) {
  return {
    /**
     * Creates an API key.
     * @returns its id, and the key itself, which is shown once
     * @param requested its limits; without any, the key may do everything
     * @throws JobferryError `invalid_fields` (name, limits), `forbidden` (too many keys, or the key would outlive the
     *   client's own), `unavailable`
     */
    async createApiKey(
      account: Account,
      name: string | null,
      requested: RequestedRights = {},
    ): Promise<{ id: string; key: string }> {
      if (name !== null && !isKeyName(name)) {
        const message = `must have 1 to ${LIMITS.apiKeyNameLength} characters, and neither NUL nor lone surrogates`;
        throw invalidField('name', message);
      }
      const rights = rightsOf(requested, new Date(await recentDatabaseTime(context.db)));
      assertNoLongerThan(account.rights, rights);
      const key = generateApiKey();
      const stored = { name, ...describeApiKey(key, { hasLimits: rights !== null }) };
      const { id } = await createApiKey(context.prisma, authorOf(account), stored, rights, (present) => {
        if (present >= LIMITS.apiKeys) {
          throw new JobferryError('forbidden', `an account may have ${LIMITS.apiKeys} API keys: revoke one first`);
        }
      });
      return { id, key };
    },

    /**
     * Revokes an API key: every process refuses it within a second. A client may revoke its own key.
     * @returns the key's id
     * @throws JobferryError `not_found`, `unavailable`
     */
    async revokeApiKey(account: Account, keyId: string): Promise<string> {
      const revoked = isId(keyId) && (await revokeApiKey(context.db, account.actor, account.id, keyId));
      if (!revoked) throw notFound('API key');
      return keyId;
    },
  };
}

export function isKeyName(name: string): boolean {
  return name.length >= 1 && name.length <= LIMITS.apiKeyNameLength && isStorableText(name);
}
