import type { GraphQLContext } from '../context.ts';
import type { QueueRow } from '../loaders.ts';

/** Maximum number of queues or jobs in one event. Prices count as many per event. */
export const MAX_EACH = 100;

/** Reads live queues of the account; all of them without ids. */
export async function queuesNow({ prisma, account }: GraphQLContext, ids: string[] | null): Promise<QueueRow[]> {
  return prisma.queue.findMany({
    where: { accountId: account.id, deletedAt: null, ...(ids === null ? {} : { id: { in: ids } }) },
    omit: { signingSecret: true, nextSigningSecret: true },
    orderBy: { id: 'asc' },
    take: MAX_EACH,
  });
}
