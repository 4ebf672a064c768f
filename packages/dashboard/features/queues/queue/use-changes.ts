import { useQuery } from '@tanstack/preact-query';
import { useMemo } from 'preact/compat';
import { changesPath } from '../../../../query/filter/activity.ts';
import { useIsPaused } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import type { Marks } from '../../../parts/chart/marks.tsx';
import { actionOnQueue, RELEASE, releaseEntries } from '../../../words/queue-actions.ts';
import { changesSince } from '../model/queue-timeline.ts';
import { ChangesOfQueue, type QueueOfPage } from '../operations/queue.ts';

const EVERY_MS = 30_000;

/**
 * The newest changes of a queue, and the releases that took over, since its charts began,
 * and since an hour before its causes of death did.
 */
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
  return useMemo(() => data && [...data.auditLog.nodes, ...releaseEntries(data.releases)], [data]);
}

/**
 * The changes of a queue as ticks of its charts. Those with a release lead to the changes of the account, which has it.
 */
export function useMarks(queue: Parameters<typeof useChanges>[0]): Marks | undefined {
  const changes = useChanges(queue);
  const { id } = queue;
  return useMemo(
    () =>
      changes && {
        list: changes.map((entry) => ({
          at: Date.parse(entry.at),
          text: `${entry.actor} ${actionOnQueue(entry)}`,
          isOfAll: entry.action === RELEASE,
        })),
        pathTo: (span, isOfAll) => changesPath(isOfAll ? null : id, span),
      },
    [changes, id],
  );
}
