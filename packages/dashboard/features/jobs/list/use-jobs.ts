import { useQuery } from '@tanstack/preact-query';
import { useEffect } from 'preact/compat';
import { isValid } from '../../../../query/filter/engine.ts';
import type { JobFilter, JobsFilter } from '../../../../query/filter/jobs.ts';
import { JobsCount } from '../../../../query/schema/suggest.ts';
import { useIsPaused, useWatch } from '../../../api/live/live.ts';
import { keepOld, query } from '../../../api/query.ts';
import { byStateOf, replayedOf } from '../model/jobs-sentence.ts';
import { JobsByState, JobsPage, type ListedJob } from '../operations/jobs.ts';
import { jobFilterOf, type ListUrl, ORDERS } from './list-url.ts';

const PAGE_SIZE = 50;
/** Counting stops there. */
const MAX_COUNT = 10_000;
const MAX_NEWS = 100;
const NEWS_MS = 5000;

/** The rows of the page, their number, and how many new ones match. */
export function useJobs(filter: JobsFilter, url: ListUrl) {
  const isEnabled = isValid(filter);
  const key = { q: url.q, from: url.from, to: url.to };
  const page = useQuery({
    ...query(JobsPage, () => pageVariables(jobFilterOf(filter, url), url), {
      key: { ...key, order: url.order, after: url.after, before: url.before },
    }),
    ...keepOld,
    enabled: isEnabled,
  });
  const rows = page.data?.jobs.nodes;
  // The first rows are not kept waiting: the counts are fetched after them.
  const isCounted = isEnabled && rows !== undefined;
  const count = useQuery({
    ...query(JobsCount, () => ({ filter: jobFilterOf(filter, url), max: MAX_COUNT }), { key }),
    ...keepOld,
    enabled: isCounted,
  });
  // Numbers of the former filter must not be read as those of this one.
  const all = count.isPlaceholderData ? null : (count.data?.count ?? null);
  const result = jobFilterOf(filter, url).states;
  /** The state of all jobs that match, if the filter says so. */
  const only = result?.length === 1 && result[0] !== 'DEAD' ? result[0] : undefined;
  const states = useQuery({
    ...query(
      JobsByState,
      () => ({ filter: jobFilterOf(filter, url), replayed: replayedOf(jobFilterOf(filter, url)) }),
      { key },
    ),
    ...keepOld,
    enabled: isCounted && only === undefined && all?.exact === true && all.count > 0,
  });
  const ofOne = only === undefined || all === null ? null : { [only]: all.count };
  const byState = only === undefined && !states.isPlaceholderData ? byStateOf(states.data) : ofOne;
  const isSearching = isEnabled && !page.isError && (rows === undefined || page.isPlaceholderData);
  const isCounting = isCounted && all === null && !count.isError;
  // The row of a replayed job has the outcome of its replay.
  const shown = rows?.flatMap(({ id, deadLetter }) => [id, deadLetter?.lastReplay?.id ?? []].flat()) ?? [];
  useWatch({ jobIds: shown });
  const news = useNews(filter, url, rows, page.dataUpdatedAt);
  // Nothing can move under the cursor in an empty list.
  const isStale = rows?.length === 0 && (news?.count ?? 0) > 0;
  useEffect(() => {
    if (isStale) void Promise.all([page.refetch(), count.refetch()]);
  }, [isStale, page.refetch, count.refetch]);
  const { pageInfo, hint = null } = page.data?.jobs ?? {};
  return { page, rows, pageInfo, hint, all, byState, news, isSearching, isCounting };
}

function pageVariables(filter: JobFilter, { order, after, before }: ListUrl) {
  const position = before === null ? { first: PAGE_SIZE, after } : { last: PAGE_SIZE, before };
  return { filter, order: ORDERS[order], ...position };
}

/**
 * How many jobs that match are newer than the first row. Only the newest page can have news: rows of others have their
 * place.
 */
function useNews(filter: JobsFilter, url: ListUrl, rows: readonly ListedJob[] | undefined, loadedAt: number) {
  const isPaused = useIsPaused();
  const isNewestPage = url.order === 'newest' && url.after === null && url.before === null && url.from === null;
  const newest = rows?.[0]?.createdAt;
  const result = useQuery({
    ...query(
      JobsCount,
      () => {
        const all = jobFilterOf(filter, url);
        // In an empty list, every job that matches is new.
        if (newest === undefined) return { filter: all, max: MAX_NEWS };
        const from = new Date(Date.parse(newest) + 1).toISOString();
        return { filter: { ...all, created: { ...all.created, from } }, max: MAX_NEWS };
      },
      { key: { news: url.q, newest, loadedAt } },
    ),
    enabled: isNewestPage && rows !== undefined && isValid(filter) && !isPaused,
    refetchInterval: NEWS_MS,
    // It was true a moment ago that there are none.
    initialData: { count: { count: 0, exact: true } },
    gcTime: 0,
  });
  return isNewestPage ? result.data.count : null;
}
