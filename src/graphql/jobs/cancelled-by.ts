import type { PrismaClient } from '../../db/connection/prisma.ts';
import { firstIdAt } from '../../domain/id.ts';

/** The kinds of bulk actions that cancel jobs. */
const CANCELLING = ['cancel_jobs', 'purge_queue'];

/** @returns the key of a cancelled job for `cancelledBy` */
export function cancelKey({ id }: { id: string }, cancelledAt: Date): string {
  return `${id}:${cancelledAt.getTime()}`;
}

/**
 * Returns the actors that cancelled jobs of an account, singly or by a bulk action, by key.
 * @param keys each is the id of a job, a colon, and the time of the cancellation in milliseconds
 */
export async function cancelledBy(
  prisma: PrismaClient,
  accountId: string,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const jobs = keys.map((key) => ({ key, id: key.slice(0, 24), at: Number(key.slice(25)) }));
  const [entries, notes] = await Promise.all([
    prisma.auditEntry.findMany({
      where: {
        accountId,
        action: 'job.cancel',
        // Ids contain the time, so the index finds the few entries of that moment.
        OR: jobs.map(({ id, at }) => ({ targetId: id, id: { gte: firstIdAt(at - 1000), lt: firstIdAt(at + 5000) } })),
      },
      select: { targetId: true, actorLabel: true },
    }),
    prisma.bulkActionJob.findMany({ where: { jobId: { in: jobs.map(({ id }) => id) } } }),
  ]);
  const actions = await prisma.bulkAction.findMany({
    where: { id: { in: notes.map(({ actionId }) => actionId) }, accountId, kind: { in: CANCELLING } },
    select: { id: true, requestedBy: true },
  });
  const requesters = new Map(actions.map(({ id, requestedBy }) => [id, requestedBy]));
  const actors = new Map(entries.map(({ targetId, actorLabel }) => [targetId, actorLabel]));
  for (const { jobId, actionId } of notes) {
    const requester = requesters.get(actionId);
    if (requester !== undefined) actors.set(jobId, requester);
  }
  return new Map(jobs.flatMap(({ key, id }) => (actors.has(id) ? [[key, actors.get(id) ?? ''] as const] : [])));
}
