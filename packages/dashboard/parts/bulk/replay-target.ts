import type { DeadLetterFilter } from '../../../query/filter/dead-letters.ts';
import type { JobFilter } from '../../../query/filter/jobs.ts';
import type { Count } from '../../../query/words/format.ts';
import type { Receiver } from '../../words/replay.ts';

/** The selection of a replay: dead letters by their own filter, or those of jobs. */
export interface ReplayTarget {
  /** The queue is null if there are several. */
  queue: { id: string; name: string } | null;
  /** Dead letters that were replayed are left out in any case. */
  filter: DeadLetterFilter | null;
  jobs: JobFilter | null;
  /** The receivers of several queues, as far as the page knows them. */
  receivers: readonly Receiver[] | null;
  /** How many jobs were chosen, of which some may not be dead; null for dead letters. */
  chosen: Count | null;
  /** A sentence with what the dead letters have in common. */
  lead: string;
}
