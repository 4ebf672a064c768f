import { useCallback, useMemo } from 'preact/compat';
import { useLocation, useSearchParams } from 'wouter-preact';
import { formatFilter, parseFilter, permitted } from '../../../../query/filter/engine.ts';
import { JOBS, type JobFilter, type JobsFilter, toJobFilter } from '../../../../query/filter/jobs.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import { useRights } from '../../../api/rights.ts';
import { serverNow } from '../../../base/clock.ts';
import { brushedRange } from '../model/histogram.ts';

/** The contents of a list of jobs, as its address has them: `?q ?order ?after ?before ?from ?to ?compare ?peek`. */
export interface ListUrl {
  q: string;
  order: Order;
  after: string | null;
  before: string | null;
  /** The brushed range, in RFC 3339. */
  from: string | null;
  to: string | null;
  /** The earlier time that the histogram compares with. */
  compare: string | null;
  peek: string | null;
}

export const ORDERS = {
  newest: { field: 'CREATED_AT', direction: 'DESC' },
  oldest: { field: 'CREATED_AT', direction: 'ASC' },
  next: { field: 'SCHEDULED_FOR', direction: 'ASC' },
  completed: { field: 'COMPLETED_AT', direction: 'DESC' },
  attempts: { field: 'ATTEMPTS', direction: 'DESC' },
} as const;
export type Order = keyof typeof ORDERS;

export function useListUrl() {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const url = readUrl(params);
  const rights = useRights();
  const filter = useMemo(() => permitted(JOBS, parseFilter(JOBS, url.q, serverNow()), rights), [url.q, rights]);
  const search = searchOf(url);

  /** A new filter, order, page or range is a new entry of the history; what is peeked at is not. */
  const set = useCallback(
    (change: Partial<ListUrl>, { replace = false } = {}) => {
      const isSamePage = Object.keys(change).every((name) => name === 'peek');
      const page = isSamePage || 'after' in change || 'before' in change ? {} : { after: null, before: null };
      const next = { ...readUrl(new URLSearchParams(search)), ...page, ...change };
      navigate(`${path}${searchOf(next)}`, { replace: replace || isSamePage });
    },
    [search, path, navigate],
  );
  const setFilter = useCallback(
    (next: JobsFilter) => set({ q: formatFilter(JOBS, next), from: null, to: null, peek: null }),
    [set],
  );
  return { url, filter, search, set, setFilter };
}

function readUrl(params: URLSearchParams): ListUrl {
  const get = (name: string) => params.get(name);
  const order = get('order') ?? 'newest';
  return {
    q: get('q') ?? '',
    order: Object.hasOwn(ORDERS, order) ? (order as Order) : 'newest',
    after: get('after'),
    before: get('before'),
    ...rangeIn(params),
    compare: get('compare'),
    peek: get('peek'),
  };
}

/** Leaves out a range that is none, as in an address that was written by hand or cut off. */
function rangeIn(params: URLSearchParams): Pick<ListUrl, 'from' | 'to'> {
  const [from, to] = [params.get('from'), params.get('to')];
  const isRange = Date.parse(from ?? '') < Date.parse(to ?? '');
  return isRange ? { from, to } : { from: null, to: null };
}

export function searchOf({ order, ...url }: ListUrl): string {
  return toSearch({ ...url, order: order === 'newest' ? null : order });
}

/** The filter for the API, now: with the brushed range, which lies within that of the filter. */
export function jobFilterOf(filter: JobsFilter, { from, to }: Pick<ListUrl, 'from' | 'to'>): JobFilter {
  const result = toJobFilter(filter, serverNow());
  if (from !== null && to !== null) result.created = brushedRange({ from, to }, result.created);
  return result;
}
