import { many, number } from './format.ts';
import type { IconName, JobState } from './words.ts';

/** What can be done with many jobs at once, and what it costs: the texts of the bar and of its dialogs. */

export type BulkDeed = 'run' | 'replay' | 'cancel';

interface BulkWords {
  icon: IconName;
  key: 'r' | 'c';
  /** On the button: `jobs` is their number, or "all". */
  label: (jobs: string) => string;
  isDanger: boolean;
  question: (matched: number) => string;
  lead: string;
  /** Below the number of matching jobs, and below that of the others. */
  figures: readonly [done: string, leftOut: string];
  refused: string;
}

/** A replay has a dialog of its own. */
export const BULK: Readonly<Record<Exclude<BulkDeed, 'replay'>, BulkWords>> = {
  run: {
    ...{ icon: 'play', key: 'r', isDanger: false, refused: 'Not run' },
    label: (jobs) => `Run ${jobs} now`,
    question: (matched) => `Run ${many(matched, 'job')} now?`,
    lead: 'Jobs become due that are scheduled, retry or are held. Their queues’ own limits, pauses and holds still apply.',
    figures: ['jobs become due', 'left out: not waiting for a time'],
  },
  cancel: {
    ...{ icon: 'x', key: 'c', isDanger: true, refused: 'Not cancelled' },
    label: (jobs) => `Cancel ${jobs}`,
    question: (matched) => `Cancel ${many(matched, 'job')}?`,
    lead: 'Only jobs that are pending or awaiting an ack can be cancelled. They leave no dead letter, and there is no way back.',
    figures: ['jobs die', 'left out: ended or under way'],
  },
};

/** States in which a deed has an effect. */
const STATES: Readonly<Record<BulkDeed, readonly JobState[]>> = {
  run: ['SCHEDULED', 'RETRYING', 'HELD'],
  replay: ['DEAD'],
  cancel: ['DUE', 'SCHEDULED', 'RETRYING', 'HELD', 'AWAITING_ACK'],
};

export const DEEDS = ['run', 'replay', 'cancel'] as const;

/** How many jobs a deed applies to, by the counts of their states. */
export function jobsOfDeed(deed: BulkDeed, byState: Readonly<Partial<Record<JobState, number>>>): number {
  return STATES[deed].reduce((sum, state) => sum + (byState[state] ?? 0), 0);
}

/** Whether a deed applies to a job of a list. A dead letter can be replayed once. */
export function appliesTo(
  deed: BulkDeed,
  { state, deadLetter }: { state: JobState; deadLetter: { replayedAt: string | null } | null },
): boolean {
  return STATES[deed].includes(state) && (deed !== 'replay' || deadLetter?.replayedAt === null);
}

/** How many of the chosen jobs are left out. `exact` is false if they were not counted to the end. */
export function leftOutOf(chosen: { count: number; exact: boolean }, matched: number): string {
  return `${number(Math.max(0, chosen.count - matched))}${chosen.exact ? '' : '+'}`;
}
