import type { GraphQLResolveInfo } from 'graphql';
import { countRows, inPlace, type PageArgs, pageOf } from './connections.ts';

interface Query<Where> {
  where: { AND: [own: Where, slice: { id: { lt?: string; gt?: string } }] };
  orderBy: { id: 'asc' | 'desc' };
  take: number;
}

/** A table of Prisma, or a part of one. */
interface Table<Where, Row> {
  count(query: { where: Where; take: number }): Promise<number>;
  findMany(query: Query<Where>): Promise<Row[]>;
}

/**
 * Returns a page of a list, newest first. It compares ids: Prisma's own cursors query for the row first, and so reveal
 * whether an id exists in another account.
 * @param own selects the rows that the client may see
 */
export function newestFirst<Where, Row extends { id: string }>(
  { args, info }: { args: PageArgs; info: GraphQLResolveInfo },
  own: Where,
  table: Table<Where, Row>,
) {
  const count = () => countRows((take) => table.count({ where: own, take }));
  return pageOf({ args, info, count }, async ({ after, before, inverted, limit }) => {
    const id = { ...(after === undefined ? {} : { lt: after.id }), ...(before === undefined ? {} : { gt: before.id }) };
    const orderBy = { id: inverted ? ('asc' as const) : ('desc' as const) };
    return inPlace(await table.findMany({ where: { AND: [own, { id }] }, orderBy, take: limit }));
  });
}
