import { type JobChip, STATES, type StateName } from '../../../../query/filter/jobs.ts';
import type { ResultOf } from '../../../../query/schema/graphql.ts';
import type { ActionJobs } from '../operations.ts';
import type { ActionState } from './action.ts';

/** The present states of the jobs that a bulk action created or made due. */

type Answer = ResultOf<typeof ActionJobs>;

/** Jobs of one fate, with the condition that finds them. */
export interface Share {
  label: string;
  /** Null if the jobs are not counted. */
  count: number | null;
  dot: 'ok' | 'bad' | 'run' | 'idle' | 'to-go';
  chip?: JobChip;
}

/**
 * The server finds the jobs of an action by an index up to this number;
 * beyond it, it would read all jobs of the account.
 */
export const MOST_COUNTED = 20_000;

/** Whether the jobs of the action go on after it. The jobs of the other kinds are cancelled. */
export const hasOutcome = ({ kind }: Pick<ActionState, 'kind'>) =>
  kind === 'REPLAY_DEAD_LETTERS' || kind === 'RUN_JOBS_NOW';

const FATES: readonly (readonly [label: string, dot: Share['dot'], ...states: StateName[]])[] = [
  ['completed', 'ok', 'completed'],
  ['dead', 'bad', 'dead'],
  ['in progress', 'run', 'processing', 'awaiting-ack'],
  ['waiting', 'to-go', 'due', 'scheduled', 'retrying', 'held'],
];

/** The counts by fate. Jobs that are cancelled or no longer found have a share only if there are any. */
export function sharesOf({ bulkAction, jobGroups }: Answer): Share[] {
  const groups = jobGroups?.groups;
  const isCancelled = ({ deadReason }: { deadReason: string | null }) => deadReason === 'CANCELLED';
  const count = (matches: (group: NonNullable<typeof groups>[number]) => boolean) =>
    groups?.reduce((sum, group) => sum + (matches(group) ? group.count : 0), 0) ?? null;
  const shares = FATES.map(
    ([label, dot, ...states]): Share => ({
      label,
      dot,
      chip: { word: 'state', value: states },
      count: count((group) => !isCancelled(group) && states.some((name) => STATES[name] === group.state)),
    }),
  );
  const cancelled = count(isCancelled) ?? 0;
  if (cancelled > 0) {
    shares.push({ label: 'cancelled', dot: 'idle', count: cancelled, chip: { word: 'reason', value: ['cancelled'] } });
  }
  // Until the action has ended, jobs are added between its own numbers and those of its jobs.
  const lost = bulkAction?.finishedAt == null ? 0 : bulkAction.succeeded - (count(() => true) ?? bulkAction.succeeded);
  if (lost > 0) shares.push({ label: 'removed, or in a deleted queue', dot: 'idle', count: lost });
  return shares;
}

/** Whether the numbers will not change any more, as far as the answer tells. */
export function isSettled({ bulkAction, jobs, jobGroups }: Answer): boolean {
  const open = jobGroups?.groups.some(({ state }) => state !== 'COMPLETED' && state !== 'DEAD') ?? false;
  return bulkAction === null || (bulkAction.finishedAt !== null && jobs.totalCount === 0 && !open);
}
