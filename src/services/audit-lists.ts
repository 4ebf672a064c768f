import { entriesOfKinds, lastChangesBefore, type TargetAt } from '../db/audit-lists.ts';
import type { Account } from '../domain/account.ts';
import { actionsOf } from '../domain/audit.ts';
import type { Context } from './context.ts';

/** Reads the audit log of an account by kinds of changes. */
export function createAuditLists({ readingPrisma }: Pick<Context, 'readingPrisma'>) {
  return {
    /** Returns the entries of several kinds, as a table that pages can be read of. */
    ofKinds(
      { id: accountId }: Account,
      kinds: { actions: readonly string[]; actor: string | null; from: string; below: string },
    ) {
      return entriesOfKinds(readingPrisma.of(accountId), { ...kinds, accountId });
    },

    /** Returns the newest change of settings of each target in the hour up to its moment; null where there is none. */
    async changesBefore({ id: accountId }: Account, targets: readonly TargetAt[]) {
      return lastChangesBefore(readingPrisma.of(accountId), accountId, targets, actionsOf(['settings']));
    },
  };
}
