import type { CauseRow } from '../../graphql/operations/dead-letters.ts';
import { titleOfDeath } from '../../model/cause.ts';
import { MOST_CAUSES } from '../../model/dead/cause.ts';
import type { DeadLetterFilter } from '../../model/dead/filter.ts';
import type { Receiver } from '../../model/dead/replay.ts';
import type { JobFilter } from '../../model/filter/job-filter.ts';
import type { Count } from '../../model/jobs-sentence.ts';

/** What is to be replayed: dead letters by their own filter, or those of jobs. */
export interface ReplayTarget {
  /** Null if there are several. */
  queue: { id: string; name: string } | null;
  /** Dead letters that were replayed are left out in any case. */
  filter: DeadLetterFilter | null;
  jobs: JobFilter | null;
  /** The receivers of several queues, as far as the page knows them. */
  receivers: readonly Receiver[] | null;
  /** How many jobs were chosen, of which some may not be dead; null for dead letters. */
  chosen: Count | null;
  /** What they have in common, as a sentence. */
  lead: string;
}

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
    ...{ jobs: null, receivers: null, chosen: null },
    lead: `All that died of “${titleOfDeath(cause, webhookTimeoutSeconds)}”.`,
  };
}

/** Everything that the filter lets through, of all queues in one action. If causes are left out, they may be of other queues. */
export function targetOfAll(causes: readonly CauseRow[], filter: DeadLetterFilter): ReplayTarget {
  const { replayed: _, ...rest } = filter;
  const queues = new Map(causes.flatMap(({ queue }) => (queue === null ? [] : [[queue.id, queue] as const])));
  const [only] = queues.values();
  const isOne = queues.size === 1 && causes.length < MOST_CAUSES;
  const queue = isOne && only !== undefined ? { id: only.id, name: only.name } : null;
  return {
    queue,
    filter: rest,
    jobs: null,
    receivers: queue === null ? [...queues.values()] : null,
    chosen: null,
    lead: 'All dead letters that match, of every cause.',
  };
}
