import { useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/compat';
import { useIsPaused } from '../../../api/live/live.ts';
import { keepOld, query } from '../../../api/query.ts';
import { serverNow } from '../../../base/clock.ts';
import { bucketSeconds } from '../../../parts/chart/geometry.ts';
import { queueCharts } from '../model/queue-timeline.ts';
import { flowOf, RECENT_BUCKET_SECONDS, recentStart, type Span } from '../model/timeline.ts';
import { QueuePage } from '../operations/queue.ts';

const EVERY_MS = 30_000;

/** A queue, its flow and its charts for a span. The stream has the queue; the rest is fetched again. */
export function useQueue(name: string, span: Span) {
  const isPaused = useIsPaused();
  const rangeMs = span.ms;
  const bucket = bucketSeconds(rangeMs);
  const bucketMs = bucket * 1000;
  const iso = (at: number) => new Date(at).toISOString();
  const variables = () => ({
    name,
    bucket,
    from: iso(Math.floor((serverNow() - rangeMs + bucketMs) / bucketMs) * bucketMs),
    recent: iso(recentStart(serverNow())),
    hasRecent: bucket !== RECENT_BUCKET_SECONDS,
  });
  const result = useQuery({
    ...query(QueuePage, variables, { key: { name, window: span.id } }),
    ...keepOld,
    refetchInterval: isPaused ? false : EVERY_MS,
  });
  const queue = result.data?.queue;
  const [timeline, recent] = [queue?.timeline, queue?.recent];
  const charts = useMemo(
    () => (timeline === undefined ? null : queueCharts(timeline, { now: serverNow(), bucketMs })),
    [timeline, bucketMs],
  );
  const { lastDeliveryAt: lastAt = null, publishedLastMinute } = queue ?? {};
  const flow = useMemo(
    () => ({ ...flowOf(recent ?? timeline ?? [], serverNow(), publishedLastMinute), lastAt }),
    [recent, timeline, lastAt, publishedLastMinute],
  );
  return { result, queue, flow, charts, bucketMs };
}
