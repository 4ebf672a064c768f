import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { serverNow } from '../../clock.ts';
import { LastDeliveryOfQueue, type QueueOfPage, QueuePage } from '../../graphql/operations/queue.ts';
import { keepOld, query } from '../../graphql/query.ts';
import { useIsPaused } from '../../live/live.ts';
import { bucketSeconds } from '../../model/chart.ts';
import { conditionOf, type Flow } from '../../model/queue-condition.ts';
import { queueCharts, type WindowName, windowOf } from '../../model/queue-timeline.ts';
import { flowOf, RECENT_BUCKET_SECONDS, recentStart } from '../../model/timeline.ts';
import { useView } from '../../time.ts';

const HOUR_MS = 3_600_000;
const EVERY_MS = 30_000;

/** A queue, its flow and its charts for a window. The stream has the queue; the rest is asked for again. */
export function useQueue(name: string, window: WindowName) {
  const isPaused = useIsPaused();
  const rangeMs = windowOf(window).hours * HOUR_MS;
  const bucket = bucketSeconds(rangeMs);
  const bucketMs = bucket * 1000;
  const iso = (at: number) => new Date(at).toISOString();
  const variables = () => ({
    ...{ name, bucket, from: iso(Math.floor((serverNow() - rangeMs + bucketMs) / bucketMs) * bucketMs) },
    ...{ recent: iso(recentStart(serverNow())), hasRecent: bucket !== RECENT_BUCKET_SECONDS },
  });
  const asked = useQuery({
    ...query(QueuePage, variables, { key: { name, window } }),
    ...keepOld,
    refetchInterval: isPaused ? false : EVERY_MS,
  });
  const queue = asked.data?.queue;
  const [timeline, recent] = [queue?.timeline, queue?.recent];
  const charts = useMemo(
    () => (timeline === undefined ? null : queueCharts(timeline, { now: serverNow(), bucketMs })),
    [timeline, bucketMs],
  );
  const flow = useMemo(() => flowOf(recent ?? timeline ?? [], serverNow()), [recent, timeline]);
  return { asked, queue, flow, charts, bucketMs };
}

/** The flow with the time of the last delivery of an idle queue: nothing else needs it. */
export function useWholeFlow(queue: QueueOfPage, flow: Flow): Flow {
  const isIdle = conditionOf(queue, flow, useView()) === 'idle';
  const { data } = useQuery({ ...query(LastDeliveryOfQueue, { id: queue.id }), enabled: isIdle });
  return isIdle ? { ...flow, lastAt: data?.jobs.nodes[0]?.completedAt ?? null } : flow;
}
