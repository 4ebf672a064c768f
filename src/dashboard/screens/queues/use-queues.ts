import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { serverNow } from '../../clock.ts';
import { request } from '../../graphql/client.ts';
import { Deaths, QueueInflow, type QueueOfPage, QueuesPage, QueueTimelines } from '../../graphql/operations/queues.ts';
import { query } from '../../graphql/query.ts';
import { useIsPaused, useLiveObjects, useWatch } from '../../live/live.ts';
import type { QueueState } from '../../model/overview.ts';
import { conditionOf, type Flow } from '../../model/queue-condition.ts';
import { type DeadCounts, deadCountsOf } from '../../model/queue-row.ts';
import {
  flowOf,
  type Point,
  type PublishedPoint,
  recentOutcome,
  recentStart,
  type Span,
  startOf,
} from '../../model/timeline.ts';
import { useShell } from '../../shell/server.ts';
import { useView } from '../../time.ts';

/** Queues on one page, as many as a live stream can watch. */
export const PAGE = 100;
/** The server orders no more queues by trouble; others follow. */
export const MAX_ORDERED = 500;
/** Numbers over time are counted by the server in spans of five minutes; a minute late is soon enough. */
const EVERY_MS = 60_000;
/** Price of a timeline: a row of statistics for each five minutes. So many queues fit into one request. */
const CHUNK: Readonly<Record<Span['id'], number>> = { '3h': 100, '24h': 100, '3d': 50 };
/** Of the queues with a backlog, so many of the worst are asked how much comes in. */
const MAX_INFLOWS = 5;

export interface ListedQueue extends QueueState {
  queue: QueueOfPage;
  flow: Flow;
}

export interface Place {
  search: string;
  after: string | null;
}

/**
 * The order of the server. It matters only if there is more than one page: each page is sorted again as its queues
 * change.
 */
function useOrder(): 'TROUBLE' | 'CREATED_AT' {
  return (useShell()?.queues.totalCount ?? 0) > PAGE ? 'TROUBLE' : 'CREATED_AT';
}

/** One page of queues with their conditions, kept current. */
export function useQueues({ search, after }: Place) {
  const isPaused = useIsPaused();
  const every = isPaused ? false : EVERY_MS;
  const variables = { first: PAGE, after, search: search === '' ? null : search, order: useOrder() };
  const asked = useQuery({
    ...query(QueuesPage, () => ({ ...variables, recent: new Date(recentStart(serverNow())).toISOString() }), {
      key: variables,
    }),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const page = asked.data?.queues;
  const queues = page?.nodes ?? [];
  useWatch({ allQueues: true });
  useNewQueues(search === '' && page?.totalCount === queues.length ? queues : null, asked.refetch);
  const inflows = useInflows(queues, every);

  const view = useView();
  const states = queues.map((queue): ListedQueue => {
    const flow = flowOf(queue.recent, inflows.get(queue.id) ?? null, view.now);
    return { queue, flow, condition: conditionOf(queue, flow, view), out: flow.out };
  });
  const recent = { all: 0, failed: 0 };
  for (const queue of queues) {
    const { all, failed } = recentOutcome(queue.recent, view.now);
    recent.all += all;
    recent.failed += failed;
  }
  return { asked, page, states, recent, view };
}

/**
 * Asks again when the live stream has a queue that the list of all queues has not, and when the shell counts other queues,
 * as of a queue that was deleted. Null if the list is a part.
 */
function useNewQueues(listed: readonly QueueOfPage[] | null, refetch: () => unknown): void {
  const latest = useRef({ listed, refetch });
  useEffect(() => {
    latest.current = { listed, refetch };
  });
  const listener = useCallback((objects: object[]) => {
    const { listed: known, refetch: ask } = latest.current;
    const isNew = ({ __typename, id }: Partial<QueueOfPage>) =>
      __typename === 'Queue' && known?.every((queue) => queue.id !== id) === true;
    if (objects.some(isNew)) ask();
  }, []);
  useLiveObjects(listener);
  const count = useShell()?.queues.totalCount;
  useEffect(() => {
    const { listed: known, refetch: ask } = latest.current;
    if (known !== null && count !== undefined && count !== known.length) ask();
  }, [count]);
}

/** How many jobs come in, of the queues whose backlog may grow. */
function useInflows(
  queues: readonly QueueOfPage[],
  every: number | false,
): ReadonlyMap<string, readonly PublishedPoint[]> {
  const behind = queues
    .filter(({ paused, hold, oldestDueSeconds }) => !paused && hold === null && (oldestDueSeconds ?? 0) > 60)
    .sort((a, b) => (b.oldestDueSeconds ?? 0) - (a.oldestDueSeconds ?? 0))
    .slice(0, MAX_INFLOWS)
    .map(({ id }) => id)
    .sort();
  return useQueries({
    queries: behind.map((id) => ({
      ...query(QueueInflow, () => ({ id, recent: new Date(recentStart(serverNow())).toISOString() }), { key: id }),
      refetchInterval: every,
    })),
    combine: (results) => {
      const known = new Map<string, readonly PublishedPoint[]>();
      results.forEach(({ data }, index) => {
        const id = behind[index];
        if (id !== undefined && data !== undefined) known.set(id, data.jobTimeline);
      });
      return known;
    },
  });
}

/** The bars of each queue of the page. */
export function useTimelines(place: Place, span: Span) {
  const order = useOrder();
  const isPaused = useIsPaused();
  return useQuery({
    ...timelinesQuery(place, order, span),
    placeholderData: keepPreviousData,
    refetchInterval: isPaused ? false : EVERY_MS,
  });
}

function timelinesQuery({ search, after }: Place, order: ReturnType<typeof useOrder>, span: Span) {
  return queryOptions({
    queryKey: ['QueueTimelines', search, after, order, span.id] as const,
    queryFn: async ({ signal }) => {
      const from = new Date(startOf(span, serverNow())).toISOString();
      const bars = new Map<string, readonly Point[]>();
      let cursor = after;
      while (bars.size < PAGE) {
        const first = Math.min(CHUNK[span.id], PAGE - bars.size);
        const variables = { first, after: cursor, search: search === '' ? null : search, order };
        const { queues } = await request(QueueTimelines, { ...variables, from, bucket: span.bucketSeconds }, signal);
        for (const { id, timeline } of queues.nodes) bars.set(id, timeline);
        if (!queues.pageInfo.hasNextPage || queues.nodes.length === 0) break;
        cursor = queues.pageInfo.endCursor;
      }
      return bars;
    },
    structuralSharing: false,
  });
}

const deathsQuery = query(Deaths, {});

/** What jobs died of, and how many of each queue. */
export function useDeaths() {
  const isPaused = useIsPaused();
  const asked = useQuery({ ...deathsQuery, refetchInterval: isPaused ? false : EVERY_MS / 2 });
  const groups = asked.data?.errorGroups;
  const counts = useMemo((): DeadCounts | undefined => groups && deadCountsOf(groups), [groups]);
  return { asked, groups, counts };
}
