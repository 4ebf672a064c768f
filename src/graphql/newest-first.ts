import type { Slice } from '../domain/page.ts';

/**
 * Returns the part of a Prisma query that reads a slice of a list of the account, newest first. It compares ids. Prisma's
 * own cursors query for the row first, and so reveal whether an id exists in another account.
 */
export function newestFirst({ after, before, inverted, limit }: Slice) {
  return {
    where: {
      id: { ...(after === undefined ? {} : { lt: after.id }), ...(before === undefined ? {} : { gt: before.id }) },
    },
    orderBy: { id: inverted ? ('asc' as const) : ('desc' as const) },
    take: limit,
  };
}

/** Returns the rows with their positions for cursors. */
export const inPlace = <Row extends { id: string }>(rows: Row[]) =>
  rows.map((node) => ({ position: { id: node.id }, node }));
