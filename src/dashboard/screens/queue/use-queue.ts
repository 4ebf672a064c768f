import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { serverNow } from '../../clock.ts';
import { QueueFlow, QueueTimeline } from '../../graphql/operations/queue.ts';
import { keepOld, query } from '../../graphql/query.ts';
import { pause } from '../../live/live.ts';
import { bucketSeconds } from '../../model/chart.ts';
import { type Flow, NO_FLOW } from '../../model/queue-condition.ts';
import { flowOf, queueCharts, type WindowName, windowOf } from '../../model/queue-timeline.ts';
import { useStore } from '../../store.ts';

const FLOW = { bucketMs: 300_000, lookBackMs: 20 * 60_000, everyMs: 30_000 };
const HOUR_MS = 3_600_000;
/** The bucket under way grows meanwhile. */
const TIMELINE_EVERY_MS = 60_000;

const startOfBucket = (at: number, bucketMs: number) => new Date(Math.floor(at / bucketMs) * bucketMs).toISOString();

/** What comes in and goes out now. */
export function useFlow(name: string): Flow {
  const isPaused = useStore(pause, (paused) => paused !== null);
  const from = () => startOfBucket(serverNow() - FLOW.lookBackMs, FLOW.bucketMs);
  const { data } = useQuery({
    ...query(QueueFlow, () => ({ name, from: from() }), { key: name }),
    refetchInterval: isPaused ? false : FLOW.everyMs,
  });
  return useMemo(() => {
    if (data?.queue == null) return NO_FLOW;
    const { timeline, jobs } = data.queue;
    return flowOf(
      { timeline, published: data.jobTimeline, lastAt: jobs.nodes[0]?.completedAt ?? null },
      { now: serverNow(), bucketMs: FLOW.bucketMs },
    );
  }, [data]);
}

/** The timelines of the queue for a window, asked for again every minute. */
export function useTimeline(name: string, window: WindowName) {
  const isPaused = useStore(pause, (paused) => paused !== null);
  const rangeMs = windowOf(window).hours * HOUR_MS;
  const bucket = bucketSeconds(rangeMs);
  const bucketMs = bucket * 1000;
  const asked = useQuery({
    ...query(QueueTimeline, () => ({ name, from: startOfBucket(serverNow() - rangeMs + bucketMs, bucketMs), bucket }), {
      key: { name, window },
    }),
    ...keepOld,
    refetchInterval: isPaused ? false : TIMELINE_EVERY_MS,
  });
  const { data } = asked;
  const charts = useMemo(
    () =>
      data?.queue == null ? null : queueCharts(data.queue.timeline, data.jobTimeline, { now: serverNow(), bucketMs }),
    [data, bucketMs],
  );
  return { asked, charts, bucketMs };
}
