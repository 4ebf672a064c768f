import { createApiKey, revokeApiKey } from '../../db/accounts.ts';
import { type Account, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
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
     * @throws JobferryError `invalid_fields` (name), `forbidden` (too many keys), `unavailable`
     */
    async createApiKey(account: Account, name: string | null): Promise<{ id: string; key: string }> {
      if (name !== null && !isKeyName(name)) {
        const message = `must have 1 to ${LIMITS.apiKeyNameLength} characters, and neither NUL nor lone surrogates`;
        throw invalidField('name', message);
      }
      const key = generateApiKey();
      const stored = { name, ...describeApiKey(key) };
      const { id } = await createApiKey(context.prisma, authorOf(account), stored, (present) => {
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

function isKeyName(name: string): boolean {
  return name.length >= 1 && name.length <= LIMITS.apiKeyNameLength && isStorableText(name);
}
