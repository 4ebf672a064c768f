import { toSearch } from '../../../filter/search.ts';

/** Which changes the page Activity shows, as they stand in its address. Null is no condition. */
export interface ActivityFilter {
  action: string | null;
  /** Id of what was changed. */
  target: string | null;
  actor: string | null;
  since: string | null;
}

export const SINCE: Readonly<Record<string, { label: string; ms: number }>> = {
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '1d': { label: 'the last 24 hours', ms: 86_400_000 },
  '7d': { label: 'the last 7 days', ms: 7 * 86_400_000 },
};

export function filterOf(params: URLSearchParams): ActivityFilter {
  const since = params.get('since');
  return {
    ...{ action: params.get('action'), target: params.get('target'), actor: params.get('actor') },
    since: since !== null && Object.hasOwn(SINCE, since) ? since : null,
  };
}

/** Start of the range, in RFC 3339. */
export function sinceOf(since: string, now: number): string {
  return new Date(now - (SINCE[since]?.ms ?? 0)).toISOString();
}

/** The address of the changes, with another condition or another page. */
export function activityPath(filter: ActivityFilter, change: Readonly<Record<string, string | null>> = {}): string {
  return `/activity${toSearch({ ...filter, ...change })}`;
}
