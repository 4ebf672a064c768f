import type { JobFilter } from '../../../../query/filter/jobs.ts';
import type { ResultOf } from '../../../../query/schema/graphql.ts';
import { type Count, number } from '../../../../query/words/format.ts';
import type { JobState } from '../../../../query/words/words.ts';
import type { JobsByState } from '../operations/jobs.ts';

/**
 * How many jobs are in each state; a state without jobs is left out.
 * Those of the dead that were cancelled or replayed are counted apart.
 */
export type ByState = Partial<Record<JobState | 'CANCELLED' | 'REPLAYED', number>>;

/** Those that were replayed; none if the filter wants others. */
export const replayedOf = (filter: JobFilter): JobFilter =>
  filter.replayed === false ? { ids: [] } : { ...filter, replayed: true };

export function byStateOf(data: ResultOf<typeof JobsByState> | undefined): ByState | null {
  if (data === undefined) return null;
  const counts: ByState = {};
  for (const { state, deadReason, count } of data.jobGroups.groups) {
    const what = deadReason === 'CANCELLED' ? deadReason : state;
    if (what != null) counts[what] = (counts[what] ?? 0) + count;
  }
  const replayed = data.replayed.count;
  return { ...counts, DEAD: Math.max(0, (counts.DEAD ?? 0) - replayed), REPLAYED: replayed };
}

/** The verb of each state, for one job and for many. */
const VERBS: Readonly<Record<keyof ByState, readonly [one: string, many: string]>> = {
  DUE: ['is due', 'are due'],
  SCHEDULED: ['is scheduled', 'are scheduled'],
  RETRYING: ['retries', 'retry'],
  HELD: ['is held', 'are held'],
  PROCESSING: ['is being delivered', 'are being delivered'],
  AWAITING_ACK: ['awaits an ack', 'await an ack'],
  COMPLETED: ['is completed', 'are completed'],
  DEAD: ['is dead', 'are dead'],
  CANCELLED: ['was cancelled', 'were cancelled'],
  REPLAYED: ['was replayed', 'were replayed'],
};

/** "61 jobs match: 2 retry, 2 are held, 57 are dead." Largest last. */
export function sentenceOfJobs(all: Count, byState: ByState | null, hasFilter: boolean): string {
  if (all.count === 0) return hasFilter ? 'No job matches.' : 'No jobs yet.';
  const one = all.count === 1;
  const how = `${all.exact ? '' : 'More than '}${number(all.count)} ${one ? 'job' : 'jobs'}`;
  const start = hasFilter ? `${how} ${one ? 'matches' : 'match'}` : how;
  if (byState === null || !all.exact) return `${start}.`;
  const states = (Object.entries(byState) as [keyof typeof VERBS, number][])
    .filter(([, jobs]) => jobs > 0)
    .sort(([, a], [, b]) => a - b);
  const [only] = states;
  if (only === undefined) return `${start}.`;
  if (states.length === 1) {
    const verb = VERBS[only[0]][one ? 0 : 1];
    return hasFilter ? `${start}, and ${one ? '' : 'all '}${verb}.` : `${start}: ${one ? 'it' : 'all'} ${verb}.`;
  }
  return `${start}: ${states.map(([state, jobs]) => `${number(jobs)} ${VERBS[state][jobs === 1 ? 0 : 1]}`).join(', ')}.`;
}

/** The known part of a list while its jobs are read and counted. */
interface ListSoFar {
  /** Rows on the page; null until they are there. */
  rows: number | null;
  /** Whether there are no other pages, so that the rows are all. */
  isWhole: boolean;
  all: Count | null;
  byState: ByState | null;
  hasFilter: boolean;
  /** Whether the answer that comes next is late. */
  isLate: boolean;
  /** Whether the server could not count them in time. */
  isUncounted: boolean;
}

/** The sentence of a list at any moment. It claims no number that it does not have. */
export function headOfJobs({ rows, isWhole, all, byState, hasFilter, isLate, isUncounted }: ListSoFar): string {
  if (all !== null) return sentenceOfJobs(all, byState, hasFilter);
  if (rows === null) return isLate ? 'Searching…' : 'Jobs';
  if (isWhole) return sentenceOfJobs({ count: rows, exact: true }, null, hasFilter);
  if (isUncounted) return sentenceOfJobs({ count: rows, exact: false }, null, hasFilter);
  return isLate ? 'Counting…' : 'Jobs';
}
