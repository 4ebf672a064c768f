import type { DeadLetterFilter } from '../../../query/filter/dead-letters.ts';
import type { ReplayTarget } from '../../parts/bulk/replay-target.ts';
import { titleOfDeath } from '../../words/cause.ts';
import type { CauseRow } from './operations.ts';

/** All of a cause that the filter lets through. */
export function targetOfCause(
  cause: CauseRow,
  filter: DeadLetterFilter,
  { isByAnswer, webhookTimeoutSeconds }: { isByAnswer: boolean; webhookTimeoutSeconds: number },
): ReplayTarget | null {
  if (cause.queue === null) return null;
  const { replayed: _, queueIds: __, ...rest } = filter;
  const { queue, fingerprint, answer } = cause;
  return {
    queue: { id: queue.id, name: queue.name },
    filter: { ...rest, fingerprints: [fingerprint], ...(isByAnswer && { answers: [answer ?? ''] }) },
    jobs: null,
    receivers: null,
    chosen: null,
    lead: `All dead letters with the cause “${titleOfDeath(cause, webhookTimeoutSeconds)}”.`,
  };
}

/**
 * Everything that the filter lets through, of all queues in one action.
 * Causes that were left out are of queues that have others here.
 */
export function targetOfAll(causes: readonly CauseRow[], filter: DeadLetterFilter): ReplayTarget {
  const { replayed: _, ...rest } = filter;
  const queues = new Map(causes.flatMap(({ queue }) => (queue === null ? [] : [[queue.id, queue] as const])));
  const [only] = queues.values();
  const queue = queues.size === 1 && only !== undefined ? { id: only.id, name: only.name } : null;
  return {
    queue,
    filter: rest,
    jobs: null,
    receivers: queue === null ? [...queues.values()] : null,
    chosen: null,
    lead: 'All dead letters that match, of every cause.',
  };
}
