import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useIsPaused } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { useServer } from '../../../api/server.ts';
import { serverNow } from '../../../base/clock.ts';
import { type Comparison, type Ghost, ghostOf, missingOfGhost } from '../model/queue-timeline.ts';
import { QueueThen } from '../operations/queue.ts';

/** The time then that follows the charts is read ahead, so that it is read seldom. */
const AHEAD_MS = 3_600_000;

/** The lines of an earlier time for charts of these times, and why they are not whole. */
export function useGhost(
  name: string,
  { times, bucketMs }: { times: readonly number[]; bucketMs: number },
  comparison: Comparison | null,
): { ghost: Ghost | null; missing: string | null } {
  const isPaused = useIsPaused();
  const server = useServer();
  const from = times[0] ?? serverNow();
  const shift = comparison?.ms ?? 0;
  const iso = (at: number) => new Date(at).toISOString();
  const { data } = useQuery({
    ...query(
      QueueThen,
      () => ({
        ...{ name, bucket: bucketMs / 1000, from: iso(from - shift) },
        to: iso(Math.floor((serverNow() - shift + AHEAD_MS) / bucketMs) * bucketMs),
      }),
      { key: { name, bucketMs, shift, range: times.length } },
    ),
    enabled: comparison !== null && times.length > 0,
    ...{ staleTime: AHEAD_MS / 2, refetchInterval: isPaused ? false : AHEAD_MS / 2 },
  });
  const timeline = data?.queue?.timeline;
  const ghost = useMemo(
    () => (comparison === null || timeline === undefined ? null : ghostOf(times, timeline, comparison, bucketMs)),
    [times, timeline, comparison, bucketMs],
  );
  const missing =
    comparison === null || server === null
      ? null
      : missingOfGhost(from, comparison, { now: serverNow(), retentionSeconds: server.retentionSeconds });
  return { ghost, missing };
}
