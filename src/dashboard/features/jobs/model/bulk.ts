import type { IconName, JobState } from '../../../words/words.ts';

/** The actions on many jobs at once. */

export type BulkDeed = 'run' | 'replay' | 'cancel';

/** On a button: `jobs` is their number, or "all". */
export const BUTTONS: Readonly<Record<BulkDeed, { icon: IconName; key: 'r' | 'c'; label: (jobs: string) => string }>> =
  {
    run: { icon: 'play', key: 'r', label: (jobs) => `Run ${jobs} now` },
    replay: { icon: 'undo', key: 'r', label: (jobs) => `Replay ${jobs}` },
    cancel: { icon: 'x', key: 'c', label: (jobs) => `Cancel ${jobs}` },
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
