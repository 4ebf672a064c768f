import { builder } from '../builder.ts';
import { BulkAction } from '../server/types.ts';

export interface BulkActionResult {
  /** Of a dry run; an action knows its own. */
  matched: number | null;
  actionId: string | null;
}

export const BulkActionPayload = builder.objectRef<BulkActionResult>('BulkActionPayload').implement({
  description: 'A bulk action that has begun, or what it would do.',
  fields: (t) => ({
    matched: t.int({
      description: 'How many match.',
      resolve: async ({ matched, actionId }, _args, { prisma, account }) => {
        if (matched !== null || actionId === null) return matched ?? 0;
        const where = { id: actionId, accountId: account.id };
        return (await prisma.bulkAction.findFirstOrThrow({ where, select: { matched: true } })).matched;
      },
    }),
    action: t.prismaField({
      type: BulkAction,
      nullable: true,
      description: 'To follow or to cancel; null for a dry run.',
      resolve: (query, { actionId: id }, _args, { prisma, account }) =>
        id === null ? null : prisma.bulkAction.findFirst({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});
