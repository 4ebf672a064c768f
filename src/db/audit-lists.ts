import { firstIdAt } from '../domain/id.ts';
import type { PrismaClient } from './connection/prisma.ts';
import { type AuditEntry, Prisma } from './generated/client.ts';

/** Reads entries of the audit log whose kind is one of several. */

/** The members of an entry as Prisma names them. */
const ENTRY = Prisma.sql`
  e.id, e.account_id as "accountId", e.at, e.actor_type as "actorType", e.actor_id as "actorId", e.actor_label as "actorLabel",
  e.action, e.target_type as "targetType", e.target_id as "targetId", e.target_name as "targetName", e.before, e.after`;

/** Which entries: their kinds, a range of ids (the end is not in it), and perhaps the actor. */
interface KindsOfEntries {
  accountId: string;
  actions: readonly string[];
  actor: string | null;
  from: string;
  below: string;
}

/**
 * Ids of at most `take` entries. Each kind is read in the order of its own index, and no further than `take`, so a few
 * changes of settings are found at once among a million sign-ins.
 */
function idsOf({ accountId, actions, actor, from, below }: KindsOfEntries, order: 'asc' | 'desc', take: number) {
  const direction = Prisma.raw(order);
  return Prisma.sql`
    select found.id
      from unnest(${[...actions]}::text[]) as kind (action)
     cross join lateral (
       select e.id from audit_entry e
        where e.account_id = ${accountId} and e.action = kind.action and e.id >= ${from} and e.id < ${below}
          and (${actor}::text is null or e.actor_label = ${actor})
        order by e.id ${direction} limit ${take}) found
     order by found.id ${direction} limit ${take}`;
}

/** A table for `newestFirst` with the entries of these kinds only. */
export function entriesOfKinds(prisma: PrismaClient, kinds: KindsOfEntries) {
  return {
    async count({ take }: { take: number }): Promise<number> {
      const [row] = await prisma.$queryRaw<{ count: number }[]>`
        select count(*)::int as count from (${idsOf(kinds, 'asc', take)}) found`;
      return row?.count ?? 0;
    },
    async findMany({
      where: { AND },
      orderBy,
      take,
    }: {
      where: { AND: [own: unknown, slice: { id: { lt?: string; gt?: string } }] };
      orderBy: { id: 'asc' | 'desc' };
      take: number;
    }) {
      const { gt = '', lt = kinds.below } = AND[1].id;
      // The least text above an id is the id with a character more.
      const from = gt === '' || gt < kinds.from ? kinds.from : `${gt} `;
      const below = lt < kinds.below ? lt : kinds.below;
      return prisma.$queryRaw<AuditEntry[]>`
        select ${ENTRY} from (${idsOf({ ...kinds, from, below }, orderBy.id, take)}) page join audit_entry e on e.id = page.id
         order by e.id ${Prisma.raw(orderBy.id)}`;
    },
  };
}

export interface TargetAt {
  targetId: string;
  at: Date;
}

const HOUR_MS = 3_600_000;

/** Changes of a target that are compared, the newest ones: more would only cost time. */
const MOST_COMPARED = 100;

/**
 * The newest change of one of the kinds in the hour up to a moment, for each target and its moment; null where there is
 * none. A change of tags alone does not count, because tags have no effect on deliveries.
 */
export async function lastChangesBefore(
  prisma: PrismaClient,
  accountId: string,
  targets: readonly TargetAt[],
  actions: readonly string[],
) {
  const rows = await prisma.$queryRaw<(AuditEntry & { ordinal: number })[]>`
    select wanted.ordinal::int as ordinal, found.*
      from unnest(${targets.map(({ targetId }) => targetId)}::text[],
                  ${targets.map(({ at }) => firstIdAt(at.getTime() - HOUR_MS))}::text[],
                  ${targets.map(({ at }) => firstIdAt(at.getTime() + 1))}::text[])
           with ordinality as wanted (target_id, first_id, below, ordinal)
     cross join lateral (
       select ${ENTRY} from (
         select e.* from audit_entry e
          where e.account_id = ${accountId} and e.target_id = wanted.target_id and e.id >= wanted.first_id
            and e.id < wanted.below and e.action = any(${[...actions]}::text[])
          order by e.id desc limit ${MOST_COMPARED}) e
        where e.action <> 'queue.update' or e.after is distinct from jsonb_build_object('tags', e.after -> 'tags')
        order by e.id desc limit 1) found`;
  const byOrdinal = new Map(rows.map(({ ordinal, ...entry }) => [ordinal - 1, entry]));
  return targets.map((_, n): AuditEntry | null => byOrdinal.get(n) ?? null);
}
