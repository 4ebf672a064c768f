import { MAX_TIMELINE_POINTS } from '../domain/statistics.ts';

/**
 * What fields cost that read more than a row: one is a tenth of a millisecond, measured with a million jobs
 * (docs/graphql.md, `bench/queries/prices.mjs`). What has no price here costs 1.
 */
export const PRICE = {
  /** A page in the order of an index; those of many queues are read together. */
  page: 50,
  pageOfQueue: 10,
  /** A page that has to be looked for: up to the 2 s that the searches of a request have. */
  search: 1000,
  /** In an order that no index has. */
  sorted: 2000,
  /** Counted to 10 000. */
  total: 250,
  depth: 30,
  health: 30,
  errorGroups: 500,
  jobTimeline: 2000,
  payloadSuggestions: 500,
  bulk: 2000,
  usage: 10,
};

interface PageArgs {
  first?: number | null | undefined;
  last?: number | null | undefined;
}

const DEFAULT_PAGE = 25;

/** Of a page without a filter: what is asked of an item, times its size. */
export function pagePrice({ first, last }: PageArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.max(first ?? last ?? DEFAULT_PAGE, 1) };
}

/** Of a page that is found: by an index, by looking, or by sorting all there is. */
export function searchPrice(
  args: PageArgs & { filter?: object | null | undefined; orderBy?: { field?: unknown } | null | undefined },
): { field: number; multiplier: number } {
  const isPlain = Object.values(args.filter ?? {}).every((condition) => condition == null);
  const isSorted = args.orderBy != null && args.orderBy.field !== 'created_at';
  const field = isSorted ? PRICE.sorted : isPlain ? PRICE.page : PRICE.search;
  return { ...pagePrice(args), field };
}

/** Of such a page of each of many queues. */
export function searchPriceOfQueue(args: Parameters<typeof searchPrice>[0]): { field: number; multiplier: number } {
  const price = searchPrice(args);
  return price.field === PRICE.page ? { ...price, field: PRICE.pageOfQueue } : price;
}

interface SpanArgs {
  from?: Date | null | undefined;
  to?: Date | null | undefined;
  bucketSeconds?: number | null | undefined;
}

const DAY_SECONDS = 86_400;

/** Of a queue's timeline: by what is read of the statistics, five minutes a row, and by the points that are written. */
export function timelinePrice({ from, to, bucketSeconds }: SpanArgs): { field: number; multiplier: number } {
  const seconds = from == null ? DAY_SECONDS : Math.max(0, ((to ?? new Date()).getTime() - from.getTime()) / 1000);
  const rows = Math.min(seconds, 30 * DAY_SECONDS) / 300;
  const points = Math.min(seconds / Math.max(bucketSeconds ?? 300, 1), MAX_TIMELINE_POINTS);
  // A point's numbers are written without reading anything: forty of them cost as much as a field with a statement.
  return { field: Math.ceil(20 + rows * 0.3), multiplier: points / 40 };
}
