import { useQuery } from '@tanstack/react-query';
import type { JobRow } from '../../graphql/operations/fragments.ts';
import { JobsByState, JobsCount, JobsPage } from '../../graphql/operations/jobs.ts';
import { keepOld, query } from '../../graphql/query.ts';
import { pause, useWatch } from '../../live/live.ts';
import { type Filter, isValid } from '../../model/filter/chips.ts';
import type { JobFilter } from '../../model/filter/job-filter.ts';
import type { JobState } from '../../model/words.ts';
import { useStore } from '../../store.ts';
import { jobFilterOf, type ListUrl, ORDERS } from './list-url.ts';

export const PAGE_SIZE = 50;
/** Counting stops there. */
const MAX_COUNT = 10_000;
const MAX_NEWS = 100;
const NEWS_MS = 5000;

/** The rows of the page, their number, and how many new ones match. */
export function useJobs(filter: Filter, url: ListUrl) {
  const isAsked = isValid(filter);
  const key = { q: url.q, from: url.from, to: url.to };
  const page = useQuery({
    ...query(JobsPage, () => pageVariables(jobFilterOf(filter, url), url), {
      key: { ...key, order: url.order, after: url.after, before: url.before },
    }),
    ...keepOld,
    enabled: isAsked,
  });
  const count = useQuery({
    ...query(JobsCount, () => ({ filter: jobFilterOf(filter, url), max: MAX_COUNT }), { key }),
    ...keepOld,
    enabled: isAsked,
  });
  const all = count.data?.count ?? null;
  const states = useQuery({
    ...query(JobsByState, () => stateVariables(jobFilterOf(filter, url)), { key }),
    ...keepOld,
    enabled: isAsked && all?.exact === true && all.count > 0,
  });
  const rows = page.data?.jobs.nodes;
  useWatch({ jobIds: rows?.map(({ id }) => id) ?? [] });
  const news = useNews(filter, url, rows, page.dataUpdatedAt);
  return { page, rows, pageInfo: page.data?.jobs.pageInfo, all, byState: byStateOf(states.data), news };
}

function pageVariables(filter: JobFilter, { order, after, before }: ListUrl) {
  const position = before === null ? { first: PAGE_SIZE, after } : { last: PAGE_SIZE, before };
  return { filter, order: ORDERS[order], ...position };
}

const ALL_STATES: readonly JobState[] = [
  ...(['DUE', 'SCHEDULED', 'RETRYING', 'HELD'] as const),
  ...(['PROCESSING', 'AWAITING_ACK', 'COMPLETED', 'DEAD'] as const),
];

/** A variable pair for each state: its filter, and whether it is counted. */
function stateVariables(filter: JobFilter) {
  const has = (state: JobState) => filter.states?.includes(state) !== false;
  const of = (state: JobState): JobFilter => ({ ...filter, states: [state] });
  return {
    ...{ due: of('DUE'), hasDue: has('DUE'), scheduled: of('SCHEDULED'), hasScheduled: has('SCHEDULED') },
    ...{ retrying: of('RETRYING'), hasRetrying: has('RETRYING'), held: of('HELD'), hasHeld: has('HELD') },
    ...{ processing: of('PROCESSING'), hasProcessing: has('PROCESSING') },
    ...{ awaitingAck: of('AWAITING_ACK'), hasAwaitingAck: has('AWAITING_ACK') },
    ...{ completed: of('COMPLETED'), hasCompleted: has('COMPLETED'), dead: of('DEAD'), hasDead: has('DEAD') },
  };
}

function byStateOf(data: Partial<Record<JobState, { count: number } | null>> | undefined) {
  if (data === undefined) return null;
  return Object.fromEntries(ALL_STATES.map((state) => [state, data[state]?.count ?? 0])) as Record<JobState, number>;
}

/**
 * How many jobs that match are newer than the first row. Only the newest page can have news: rows of others have their
 * place.
 */
function useNews(filter: Filter, url: ListUrl, rows: readonly JobRow[] | undefined, loadedAt: number) {
  const isPaused = useStore(pause) !== null;
  const isNewestPage = url.order === 'newest' && url.after === null && url.before === null && url.from === null;
  const newest = rows?.[0]?.createdAt;
  const asked = useQuery({
    ...query(
      JobsCount,
      () => {
        const all = jobFilterOf(filter, url);
        // Of an empty list, every job that matches is new.
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
  return isNewestPage ? asked.data.count : null;
}
