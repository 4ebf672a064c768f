import { type Author, difference } from '../../domain/audit.ts';
import type { Limits } from '../../domain/several-queues.ts';
import { actorJson } from '../audit.ts';
import type { PrismaClient } from '../connection/prisma.ts';
import { exclusively } from '../connection/transactions.ts';

/** A live queue with its limits before the change. */
export interface LimitedQueue extends Limits {
  id: string;
  name: string;
}

/**
 * Changes limits of queues in one transaction, with an audit entry for each changed queue and its wake-up. No other
 * change of settings of the account runs between `decide` and the update.
 * @param decide receives the queues that are live and the concurrency of all queues of the account; returns the limits
 *   to set by id, or throws to refuse
 * @returns the live queues as they were, and the ids of those that were changed
 */
export async function changeLimits(
  prisma: PrismaClient,
  by: Author,
  queueIds: readonly string[],
  decide: (present: readonly LimitedQueue[], totalConcurrency: number) => ReadonlyMap<string, Partial<Limits>>,
): Promise<{ present: LimitedQueue[]; changed: ReadonlySet<string> }> {
  const { accountId } = by;
  return exclusively(prisma, accountId, async (tx) => {
    const present: LimitedQueue[] = await tx.queue.findMany({
      where: { id: { in: [...queueIds] }, accountId, deletedAt: null },
      select: { id: true, name: true, concurrency: true, rateLimitMax: true, rateLimitWindow: true },
      orderBy: { id: 'asc' },
    });
    const { _sum: sum } = await tx.queue.aggregate({
      where: { accountId, deletedAt: null },
      _sum: { concurrency: true },
    });
    const wanted = decide(present, sum.concurrency ?? 0);
    const changes = present.flatMap((queue) => {
      const changed = difference<Limits>(queue, wanted.get(queue.id) ?? {});
      return changed === null ? [] : [{ ...queue, ...changed.after, ...changed }];
    });
    if (changes.length === 0) return { present, changed: new Set<string>() };
    // With a higher limit, a process may be able to claim waiting jobs.
    const rows = await tx.$queryRaw<{ id: string }[]>`
      with wanted as materialized (
        select * from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
          as w(id text, name text, concurrency integer, "rateLimitMax" integer, "rateLimitWindow" float8, before jsonb, after jsonb)
      ), locked as materialized (
        select q.id from queue q join wanted w on w.id = q.id where q.deleted_at is null order by q.id for no key update of q
      ), changed as (
        update queue set concurrency = w.concurrency, rate_limit_max = w."rateLimitMax", rate_limit_window = w."rateLimitWindow"
          from wanted w join locked on locked.id = w.id where queue.id = w.id
        returning queue.id, queue.name, w.before, w.after
      )
      select id, jobferry_wake('deliver', id, jobferry_now())::text,
             jobferry_audit(${accountId}, ${actorJson(by.actor)}::json, 'queue.update', 'queue', id, name, before, after)
        from changed order by id`;
    return { present, changed: new Set(rows.map(({ id }) => id)) };
  });
}
