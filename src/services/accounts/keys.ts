import { createApiKey, revokeApiKey } from '../../db/accounts.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { LIMITS } from '../../domain/queue.ts';
import { isStorableText } from '../../domain/text.ts';
import type { Context } from '../context.ts';
import type { KeyOperations } from '../operations.ts';
import { describeApiKey, generateApiKey } from './api-key.ts';

/** Keys of the account that asks. */
export function createKeyOperations(context: Pick<Context, 'db' | 'prisma'>): KeyOperations {
  return {
    async createApiKey(account, name) {
      if (name !== null && !isKeyName(name)) {
        const message = `must have 1 to ${LIMITS.apiKeyNameLength} characters, and neither NUL nor lone surrogates`;
        throw invalidField('name', message);
      }
      const key = generateApiKey();
      const stored = { name, ...describeApiKey(key) };
      const { id } = await createApiKey(context.prisma, account, stored, (present) => {
        if (present >= LIMITS.apiKeys) {
          throw new JobferryError('forbidden', `an account may have ${LIMITS.apiKeys} API keys: revoke one first`);
        }
      });
      return { id, key };
    },

    async revokeApiKey(account, keyId) {
      const revoked = isId(keyId) && (await revokeApiKey(context.db, account.actor, account.id, keyId));
      if (!revoked) throw notFound('API key');
      return keyId;
    },
  };
}

function isKeyName(name: string): boolean {
  return name.length >= 1 && name.length <= LIMITS.apiKeyNameLength && isStorableText(name);
}
