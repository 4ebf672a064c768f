import { useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/compat';
import { useIsPaused } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { serverNow } from '../../../base/clock.ts';
import { AHEAD_MS, useComparison } from '../../../parts/compare-choice.tsx';
import { type Ghost, ghostOf } from '../model/queue-timeline.ts';
import { QueueThen } from '../operations/queue.ts';

/** The lines of an earlier time for charts of these times; null without one, or before they are read. */
export function useGhost(
  name: string,
  { times, bucketMs }: { times: readonly number[]; bucketMs: number },
): Ghost | null {
  const isPaused = useIsPaused();
  const comparison = useComparison();
  const from = times[0] ?? serverNow();
  const shift = comparison?.ms ?? 0;
  const iso = (at: number) => new Date(at).toISOString();
  const { data } = useQuery({
    ...query(
      QueueThen,
      () => ({
        name,
        bucket: bucketMs / 1000,
        from: iso(from - shift),
        to: iso(Math.floor((serverNow() - shift + AHEAD_MS) / bucketMs) * bucketMs),
      }),
      { key: { name, bucketMs, shift, range: times.length } },
    ),
    enabled: comparison !== null && times.length > 0,
    staleTime: AHEAD_MS / 2,
    refetchInterval: isPaused ? false : AHEAD_MS / 2,
  });
  const timeline = data?.queue?.timeline;
  return useMemo(
    // Without values until they are there: the legends have their height at once.
    () => (comparison === null ? null : ghostOf(times, timeline ?? [], comparison, bucketMs)),
    [times, timeline, comparison, bucketMs],
  );
}
