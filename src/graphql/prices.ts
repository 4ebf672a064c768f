import { MAX_TIMELINE_POINTS } from '../domain/statistics.ts';

/**
 * Prices of fields that read more than a row. One is a tenth of a millisecond, measured with a million jobs
 * (docs/graphql.md, `rigs/bench/queries/prices.mjs`). A field without a price here costs 1.
 */
export const PRICE = {
  /** A page in the order of an index. */
  page: 50,
  /** A page of one queue of many: their pages are read in one statement. */
  pageOfQueue: 10,
  /** A page that has to be searched. All searches of a request have 2 s together. */
  search: 1000,
  /** A page in an order that no index has. */
  sorted: 2000,
  /** A page of attempts, of which only the time has an index. */
  attempts: 2000,
  /** A count up to 10 000. */
  total: 250,
  /** A count of up to 1000 jobs by index alone. */
  ahead: 5,
  depth: 30,
  /** Published jobs of a minute, counted by index alone. */
  publishedNow: 3,
  /** Published jobs of forty points of a timeline, counted by index alone. */
  published: 40,
  health: 30,
  /** Attempts that are not yet summed up, as for `health`, and those of five minutes. */
  lastDelivery: 30,
  /** A quarter of the statistics of a day, which the up to four warnings of a queue share. */
  warningStart: 25,
  errorGroups: 500,
  jobTimeline: 2000,
  payloadSuggestions: 500,
  bulk: 2000,
  usage: 10,
  /**
   * A change of all queues of an account: 1000 changes, their audit entries and wake-ups, most of it in one statement.
   */
  severalQueues: 2000,
  /** The rows of all queues of the account. */
  receivers: 50,
  /** As of the healths of a receiver's queues, of which there may be many: the statement is one for all receivers. */
  receiverHealth: 30,
  /** A statement over a table of few rows. */
  tunnels: 5,
  releases: 5,
  /** A statement of a few rows. The time of the receiver costs nothing here. */
  receiverCheck: 50,
  receiverExamination: 200,
};

interface PageArgs {
  first?: number | null | undefined;
  last?: number | null | undefined;
}

const DEFAULT_PAGE = 25;

/** Price of a page without a filter: the price of the fields of an item, times the size of the page. */
export function pagePrice({ first, last }: PageArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.max(first ?? last ?? DEFAULT_PAGE, 1) };
}

/** Price of a page that an index, a search, or a sort of the whole list finds. */
export function searchPrice(
  args: PageArgs & { filter?: object | null | undefined; orderBy?: { field?: unknown } | null | undefined },
): { field: number; multiplier: number } {
  const isPlain = Object.values(args.filter ?? {}).every((condition) => condition == null);
  const isSorted = args.orderBy != null && args.orderBy.field !== 'created_at';
  const field = isSorted ? PRICE.sorted : isPlain ? PRICE.page : PRICE.search;
  return { ...pagePrice(args), field };
}

/** Price of such a page that is read for each of many queues. */
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

/** Price of a queue's timeline: by the rows of statistics that are read, one per five minutes, and by its points. */
export function timelinePrice({ from, to, bucketSeconds }: SpanArgs): { field: number; multiplier: number } {
  const seconds = from == null ? DAY_SECONDS : Math.max(0, ((to ?? new Date()).getTime() - from.getTime()) / 1000);
  const rows = Math.min(seconds, 30 * DAY_SECONDS) / 300;
  const points = Math.min(seconds / Math.max(bucketSeconds ?? 300, 1), MAX_TIMELINE_POINTS);
  // The numbers of a point need no statement: forty points cost as much as a field with a statement.
  return { field: Math.ceil(20 + rows * 0.3), multiplier: points / 40 };
}

/**
 * Price of the timeline of all queues together, whose number is not known: as of the timelines of ten. The database
 * adds up thirty busy ones in that time, and takes at most 2 s like a search. The points exist once.
 */
export function totalTimelinePrice(args: SpanArgs): { field: number; multiplier: number } {
  const { field, multiplier } = timelinePrice(args);
  return { field: 10 * field, multiplier };
}
