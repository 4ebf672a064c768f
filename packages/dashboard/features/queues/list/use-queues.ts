import { keepPreviousData, queryOptions, useQuery } from '@tanstack/preact-query';
import { useCallback, useEffect, useMemo, useRef } from 'preact/compat';
import { queueSearchOf } from '../../../../query/filter/queue-search.ts';
import { request } from '../../../api/client.ts';
import { useIsPaused, useLiveObjects, useWatch } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { useShell } from '../../../api/server.ts';
import { serverNow } from '../../../base/clock.ts';
import { useView } from '../../../base/time.ts';
import { AHEAD_MS, useComparison } from '../../../parts/compare-choice.tsx';
import type { QueueState } from '../model/overview.ts';
import { conditionOf, type Flow } from '../model/queue-condition.ts';
import { type DeadCounts, deadCountsOf } from '../model/queue-row.ts';
import {
  endOfThen,
  flowOf,
  type Point,
  recentOutcome,
  recentStart,
  type Span,
  startOf,
  withChanges,
} from '../model/timeline.ts';
import { type DeathGroup, type QueueOfPage, QueuesPage, QueueTimelines } from '../operations/queues.ts';

/**
 * Queues on one page, as many as one request may ask for with all that a row shows (`test/graphql/dashboard-prices`).
 */
export const PAGE = 90;
/** Numbers over time are counted by the server in spans of five minutes; a minute late is soon enough. */
const EVERY_MS = 60_000;
/** Price of a timeline: a row of statistics for each five minutes. So many queues fit into one request. */
const CHUNK: Readonly<Record<Span['id'], number>> = { '3h': PAGE, '24h': PAGE, '3d': PAGE / 2 };

export interface ListedQueue extends QueueState {
  queue: QueueOfPage;
  flow: Flow;
}

interface Place {
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
  const variables = { first: PAGE, after, ...queueSearchOf(search), order: useOrder() };
  const result = useQuery({
    ...query(QueuesPage, () => ({ ...variables, recent: new Date(recentStart(serverNow())).toISOString() }), {
      key: variables,
    }),
    placeholderData: keepPreviousData,
    refetchInterval: every,
  });
  const page = result.data?.queues;
  const queues = page?.nodes ?? [];
  useWatch({ allQueues: true });
  useNewQueues(search === '' && page?.totalCount === queues.length ? queues : null, result.refetch);

  const view = useView();
  // The counts are as old as the answer: a rate up to the present would sink from second to second.
  const asOf = Date.parse(result.data?.server.now ?? '');
  const states = queues.map((queue): ListedQueue => {
    const flow = flowOf(queue.recent, asOf, queue.publishedLastMinute);
    return { queue, flow, condition: conditionOf(queue, flow, view), out: flow.accepted };
  });
  const recent = { all: 0, failed: 0, putOff: 0, span: states[0]?.flow.span ?? null };
  for (const queue of queues) {
    const { all, failed, putOff } = recentOutcome(queue.recent, asOf);
    recent.all += all;
    recent.failed += failed;
    recent.putOff += putOff;
  }
  return { result, page, states, recent, view };
}

/**
 * Asks again when the live stream has a queue that the list of all queues has not, and when the shell counts other
 * queues, as of a queue that was deleted. Null if the list is a part.
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

interface Timelines {
  /** The bars of each queue of the page. */
  bars: ReadonlyMap<string, readonly Point[]>;
  /** The causes of death. */
  deaths: readonly DeathGroup[];
}

/** Reads the timelines and deaths that a page of queues shows besides their present state. */
export function useTimelines(place: Place, span: Span) {
  const order = useOrder();
  const isPaused = useIsPaused();
  const result = useQuery({
    ...timelinesQuery(place, order, span),
    placeholderData: keepPreviousData,
    refetchInterval: isPaused ? false : EVERY_MS,
  });
  const comparison = useComparison();
  const then = useQuery({
    ...timelinesQuery(place, order, span, comparison?.ms),
    enabled: comparison !== null,
    staleTime: AHEAD_MS / 2,
    refetchInterval: isPaused ? false : AHEAD_MS / 2,
  }).data?.bars;
  const deaths = result.data?.deaths;
  /** How many died, by queue. */
  const deadCounts = useMemo((): DeadCounts | undefined => deaths && deadCountsOf(deaths), [deaths]);
  return { result, bars: result.data?.bars, then, deaths, deadCounts };
}

/** @param shiftMs how long ago the time is that is read: 0 for the present one. Only that has deaths and changes */
function timelinesQuery({ search, after }: Place, order: ReturnType<typeof useOrder>, span: Span, shiftMs = 0) {
  return queryOptions({
    queryKey: ['QueueTimelines', search, after, order, span.id, shiftMs] as const,
    queryFn: async ({ signal }): Promise<Timelines> => {
      const start = startOf(span, serverNow() - shiftMs);
      const from = new Date(start).toISOString();
      const to = shiftMs === 0 ? null : new Date(start + endOfThen(span)).toISOString();
      const bars = new Map<string, readonly Point[]>();
      let deaths: readonly DeathGroup[] = [];
      let changes: readonly { at: string; targetId: string }[] = [];
      let cursor = after;
      while (bars.size < PAGE) {
        const first = Math.min(CHUNK[span.id], PAGE - bars.size);
        const place = { first, after: cursor, ...queueSearchOf(search), order };
        const variables = { ...place, hasDeaths: bars.size === 0 && shiftMs === 0 };
        const page = await request(QueueTimelines, { ...variables, from, to, bucket: span.bucketSeconds }, signal);
        deaths = page.deaths ?? deaths;
        changes = page.changes?.nodes ?? changes;
        for (const { id, timeline } of page.queues.nodes) {
          const own = changes.filter(({ targetId }) => targetId === id);
          bars.set(id, withChanges(timeline, own, span.bucketSeconds));
        }
        if (!page.queues.pageInfo.hasNextPage || page.queues.nodes.length === 0) break;
        cursor = page.queues.pageInfo.endCursor;
      }
      return { bars, deaths };
    },
    structuralSharing: false,
  });
}
