import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useIsPaused } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { changesPath } from '../../../filter/activity.ts';
import type { Marks } from '../../../parts/chart/marks.tsx';
import { deedOnQueue } from '../../../words/queue-deeds.ts';
import { changesSince } from '../model/queue-timeline.ts';
import { ChangesOfQueue, type QueueOfPage } from '../operations/queue.ts';

const EVERY_MS = 30_000;

/** The newest changes of a queue since its charts began, and since an hour before its causes of death did. */
export function useChanges(queue: Pick<QueueOfPage, 'id' | 'timeline' | 'errorGroups'>) {
  const { id } = queue;
  const isPaused = useIsPaused();
  const from = changesSince(queue);
  const { data } = useQuery({
    ...query(ChangesOfQueue, { id, at: { from } }),
    // The old ones until the new ones are there, and never those of another queue.
    placeholderData: (old) => (old?.auditLog.nodes.every(({ targetId }) => targetId === id) ? old : undefined),
    refetchInterval: isPaused ? false : EVERY_MS,
  });
  return data?.auditLog.nodes;
}

/** The changes of a queue as ticks of its charts. */
export function useMarks(queue: Parameters<typeof useChanges>[0]): Marks | undefined {
  const changes = useChanges(queue);
  const { id } = queue;
  return useMemo(
    () =>
      changes && {
        list: changes.map((entry) => ({ at: Date.parse(entry.at), text: `${entry.actor} ${deedOnQueue(entry)}` })),
        pathTo: (span) => changesPath(id, span),
      },
    [changes, id],
  );
}
