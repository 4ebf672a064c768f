import { toSearch } from './search.ts';

/** Filters under a name, for everyone of the account. */

const PATHS = { JOBS: '/jobs', DEAD_LETTERS: '/dead' } as const;
type ViewPage = keyof typeof PATHS;

export const viewPageOf = (path: string): ViewPage => (path === PATHS.JOBS ? 'JOBS' : 'DEAD_LETTERS');

/** The address of a saved view; null if the person may not read it. */
export function pathOfView({ page, query }: { page: ViewPage; query: string | null }): string | null {
  return query === null ? null : `${PATHS[page]}?${query}`;
}

/**
 * The part of an address that is saved: filter, order and grouping. A place in the list, a peek and a brushed range are
 * of a moment.
 */
export function viewQueryOf(params: URLSearchParams): string {
  const names = ['q', 'order', 'tab', 'dismissed'];
  return toSearch(Object.fromEntries(names.map((name) => [name, params.get(name)]))).slice(1);
}
