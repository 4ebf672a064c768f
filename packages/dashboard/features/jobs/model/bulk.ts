import type { IconName, JobState } from '../../../../query/words/words.ts';

/** The actions on many jobs at once. */

export type JobsAction = 'run' | 'replay' | 'cancel';

/** On a button: `jobs` is their number, or "all". */
export const BUTTONS: Readonly<
  Record<JobsAction, { icon: IconName; key: 'r' | 'c'; label: (jobs: string) => string }>
> = {
  run: { icon: 'play', key: 'r', label: (jobs) => `Run ${jobs} now` },
  replay: { icon: 'undo', key: 'r', label: (jobs) => `Replay ${jobs}` },
  cancel: { icon: 'x', key: 'c', label: (jobs) => `Cancel ${jobs}` },
};

/** States in which an action has an effect. */
const STATES: Readonly<Record<JobsAction, readonly JobState[]>> = {
  run: ['SCHEDULED', 'RETRYING', 'HELD'],
  replay: ['DEAD'],
  cancel: ['DUE', 'SCHEDULED', 'RETRYING', 'HELD', 'AWAITING_ACK'],
};

export const JOBS_ACTIONS = ['run', 'replay', 'cancel'] as const;

/** How many jobs an action applies to, by the counts of their states. */
export function jobsOfAction(action: JobsAction, byState: Readonly<Partial<Record<JobState, number>>>): number {
  return STATES[action].reduce((sum, state) => sum + (byState[state] ?? 0), 0);
}

/** Whether an action applies to a job of a list. A dead letter can be replayed once. */
export function appliesTo(
  action: JobsAction,
  { state, deadLetter }: { state: JobState; deadLetter: { replayedAt: string | null } | null },
): boolean {
  return STATES[action].includes(state) && (action !== 'replay' || deadLetter?.replayedAt === null);
}
