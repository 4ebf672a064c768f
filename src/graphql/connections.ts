import type { OutputType } from '@pothos/core';
import { resolveCursorConnection } from '@pothos/plugin-relay';
import type { GraphQLResolveInfo } from 'graphql';
import { JobferryError } from '../domain/errors.ts';
import { type BoundedCount, MAX_COUNT, type Position, type Slice } from '../domain/page.ts';
import { builder } from './builder.ts';
import { PRICE } from './prices.ts';
import { Selection } from './selection.ts';

const PAGE = { defaultSize: 25, maxSize: 100 };

export interface PageArgs {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

/** An item of a list, and its position. */
interface Placed<T> {
  position: Position;
  node: T;
}

/** Fields of a connection that need its items. */
const OF_ITEMS = ['nodes', 'edges', 'pageInfo', 'hint'];

/**
 * Returns a page of an ordered list. One item more than the page has is read, to know whether the list continues. If no
 * field that needs an item is selected, as for the total alone, no item is read.
 * @param count counts the whole list, at most once and only if a total is selected that the page does not show
 */
export async function pageOf<T>(
  { args, info, count }: { args: PageArgs; info: GraphQLResolveInfo; count: () => Promise<BoundedCount> },
  read: (slice: Slice) => Promise<Placed<T>[]>,
) {
  const isRead = Selection.of(info).has(...OF_ITEMS);
  for (const size of [args.first, args.last]) {
    if (size != null && (size < 0 || size > PAGE.maxSize))
      throw badPage(`first and last must be from 0 to ${PAGE.maxSize}`);
  }
  if (args.first != null && args.last != null) throw badPage('give either first or last');
  const page = await resolveCursorConnection(
    { ...PAGE, args, toCursor: (item) => cursorOf((item as Placed<T>).position) },
    ({ before, after, limit, inverted }): Promise<Placed<T>[]> => {
      const slice = { limit, inverted, after: positionOf(after), before: positionOf(before) };
      return isRead ? read(slice) : Promise.resolve([]);
    },
  );
  if (page === null) throw new Error('a page is never null');
  const edges = (page.edges as { cursor: string; node: Placed<T> }[]).map(({ cursor, node }) => ({
    cursor,
    node: node.node,
  }));
  const pageInfo = page.pageInfo as PageInfo;
  const isWhole =
    isRead && args.after == null && args.before == null && !pageInfo.hasNextPage && !pageInfo.hasPreviousPage;
  return { edges, pageInfo, ...counted(isWhole ? async () => ({ count: edges.length, exact: true }) : count) };
}

/** Returns the items of positions, without those whose row the sweep has removed meanwhile. */
export function placed<T>(positions: readonly Position[], rows: readonly (T | null | Error)[]): Placed<T>[] {
  return positions.flatMap((position, index) => {
    const node = rows[index];
    if (node instanceof Error) throw node;
    return node == null ? [] : [{ position, node }];
  });
}

/** Returns the rows of a list by id with their positions. */
export const inPlace = <Row extends { id: string }>(rows: Row[]) =>
  rows.map((node) => ({ position: { id: node.id }, node }));

interface PageInfo {
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  startCursor?: string | null;
  endCursor?: string | null;
}

/** Encodes a position as a cursor, which is opaque to clients. */
function cursorOf({ at, id, n }: Position): string {
  const parts = at === undefined ? [id] : n === undefined ? [id, at] : [id, at, n];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function positionOf(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  try {
    const [id, at, n] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const isTime = at === undefined || at === null || (typeof at === 'number' && Number.isSafeInteger(Math.trunc(at)));
    const isOrdinal = n === undefined || (Number.isInteger(n) && Math.abs(n as number) < 2 ** 31);
    if (typeof id === 'string' && /^[0-9a-f]{24}$/.test(id) && isTime && isOrdinal)
      return { id, at: at as number | null | undefined, n: n as number | undefined };
  } catch {
    // The text is no cursor: refused below.
  }
  throw badPage('after and before must be cursors of this list');
}

function badPage(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}

/** A page whose list is counted only if a field of the total is selected. */
interface Counted {
  total: () => Promise<BoundedCount>;
}

/** Adds a total that is counted at most once, for all fields that return it. */
function counted(count: () => Promise<BoundedCount>): Counted {
  let total: Promise<BoundedCount> | null = null;
  return {
    total: () => {
      total ??= count();
      return total;
    },
  };
}

/** Counts rows up to the maximum. */
export async function countRows(count: (take: number) => Promise<number>): Promise<BoundedCount> {
  const found = await count(MAX_COUNT + 1);
  return { count: Math.min(found, MAX_COUNT), exact: found <= MAX_COUNT };
}

/** A page whose filter is explained if it matches nothing. */
interface Hinted {
  edges: readonly unknown[];
  hint: () => Promise<string | null>;
}

/** Options of the field that explains an empty page. */
const HINT = {
  complexity: PRICE.payloadSuggestions,
  nullable: true,
  description:
    'Why the filter may match nothing. For jobs: no queue has a name or a tag of the filter. For jobs and dead letters: no queue delivers to a receiver of the filter; or recent payloads do not have the path of its payload condition, have values of another type there, or are not searched because they are encrypted or larger than 64 KiB. Null if the page has items, or if there is no such reason.',
  resolve: (page: object) => {
    const { edges, hint } = page as Hinted;
    return edges.length === 0 ? hint() : null;
  },
} as const;

/**
 * Defines the types of a page and of its edges.
 * @param words their descriptions
 * @param isHinted whether the page explains why it is empty
 */
export function connectionOf<Type extends OutputType<typeof builder.$inferSchemaTypes>>(
  type: Type,
  name: string,
  words: { page: string; edge: string },
  isHinted = false,
) {
  return builder.connectionObject(
    {
      type,
      name: `${name}Connection`,
      description: words.page,
      fields: (t) => ({
        totalCount: t.int({
          complexity: PRICE.total,
          description:
            'Number of items in the whole list, counted up to 10 000. It is counted only if this field is selected.',
          resolve: async (page: object) => (await (page as Counted).total()).count,
        }),
        totalCountExact: t.boolean({
          complexity: PRICE.total,
          description: 'False if the list has more items than `totalCount`.',
          resolve: async (page: object) => (await (page as Counted).total()).exact,
        }),
        ...(isHinted ? { hint: t.string(HINT) } : {}),
      }),
    },
    { name: `${name}Edge`, description: words.edge },
  );
}
