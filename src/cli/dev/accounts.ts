import { createAccount, createApiKey } from '../../db/accounts.ts';
import type { Database } from '../../db/connection/database.ts';
import { createPrisma } from '../../db/connection/prisma.ts';
import { listAccounts } from '../../db/operator/accounts.ts';
import { suspendAccount } from '../../db/operator/suspension.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { describeApiKey, generateApiKey } from '../../services/accounts/api-key.ts';

const NAME = 'tests';

/** Accounts that follow each other, so that tests find nothing of the tests before them. */
export async function accountsInTurn(db: Database, plan: string) {
  const [first] = await listAccounts(db, { after: null, limit: 1 });
  let current = first?.id;
  const prisma = createPrisma(db);
  return {
    /** Creates an account. The one before is suspended, so none of its deliveries begins any more. */
    async next(): Promise<{ apiKey: string; accountId: string }> {
      const account = await createAccount(prisma, { name: NAME, plan }, OPERATOR);
      const apiKey = generateApiKey();
      const by = { accountId: account.id, actor: OPERATOR };
      await createApiKey(prisma, by, { ...describeApiKey(apiKey), name: NAME }, null, () => undefined);
      if (current !== undefined) await suspendAccount(db, OPERATOR, current);
      current = account.id;
      return { apiKey, accountId: account.id };
    },
  };
}
