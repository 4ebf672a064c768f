import { keepPreviousData, queryOptions, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { serverNow } from '../../clock.ts';
import { request } from '../../graphql/client.ts';
import { Deaths, QueueInflow, type QueueOfPage, QueuesPage, QueueTimelines } from '../../graphql/operations/queues.ts';
import { query } from '../../graphql/query.ts';
import { useIsPaused, useWatch } from '../../live/live.ts';
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

/** One page of queues with their conditions, kept current, in the order of the server: oldest first. */
export function useQueues({ search, after }: Place) {
  const isPaused = useIsPaused();
  const every = isPaused ? false : EVERY_MS;
  const variables = { first: PAGE, after, search: search === '' ? null : search };
  const asked = useQuery({
    ...query(QueuesPage, () => ({ ...variables, recent: new Date(recentStart(serverNow())).toISOString() }), {
      key: variables,
    }),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const page = asked.data?.queues;
  const queues = page?.nodes ?? [];
  useWatch({ queueIds: queues.map(({ id }) => id) });
  useNewQueues(search === '' ? page?.totalCount : undefined, asked.refetch);
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

/** The live stream knows no new queues. The shell counts all queues, and a count that differs is a reason to ask. */
function useNewQueues(listed: number | undefined, refetch: () => unknown): void {
  const all = useShell()?.queues.totalCount;
  useEffect(() => {
    if (listed !== undefined && all !== undefined && all !== listed) refetch();
  }, [all]);
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
export function useTimelines({ search, after }: Place, span: Span) {
  const isPaused = useIsPaused();
  return useQuery({
    ...timelinesQuery({ search, after }, span),
    placeholderData: keepPreviousData,
    refetchInterval: isPaused ? false : EVERY_MS,
  });
}

function timelinesQuery({ search, after }: Place, span: Span) {
  return queryOptions({
    queryKey: ['QueueTimelines', search, after, span.id] as const,
    queryFn: async ({ signal }) => {
      const from = new Date(startOf(span, serverNow())).toISOString();
      const bars = new Map<string, readonly Point[]>();
      let cursor = after;
      while (bars.size < PAGE) {
        const first = Math.min(CHUNK[span.id], PAGE - bars.size);
        const variables = { first, after: cursor, search: search === '' ? null : search };
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
