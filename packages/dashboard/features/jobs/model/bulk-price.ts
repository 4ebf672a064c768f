import type { JobsAction } from './bulk.ts';

/** The texts of the dialog before an action on many jobs: what it does and costs. */

interface BulkWords {
  isDanger: boolean;
  /** @param jobs their number with the word for them */
  question: (jobs: string) => string;
  lead: string;
  /** Below the number of matching jobs, and below that of the others. */
  figures: readonly [done: string, leftOut: string];
  third: readonly [figure: string, label: string];
  refused: string;
}

/** A replay has a dialog of its own. */
export const BULK: Readonly<Record<Exclude<JobsAction, 'replay'>, BulkWords>> = {
  run: {
    isDanger: false,
    refused: 'Not run',
    question: (jobs) => `Run ${jobs} now?`,
    lead: 'Scheduled, retrying and held jobs become due now.',
    figures: ['jobs become due', 'skipped: not scheduled, retrying or held'],
    third: ['kept', 'pauses, holds and limits of queues'],
  },
  cancel: {
    isDanger: true,
    refused: 'Not cancelled',
    question: (jobs) => `Cancel ${jobs}?`,
    lead: 'Only jobs that are pending or awaiting an ack can be cancelled. This cannot be undone.',
    figures: ['will be cancelled', 'skipped: finished or in progress'],
    third: ['0', 'dead letters created'],
  },
};
