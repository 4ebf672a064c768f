import { type Count, count, many, NONE } from '../../query/words/format.ts';

/** The number of jobs that an action matches. "+" says that there may be more than the server counted. */

/** The server counts up to here. */
const MAX_MATCHED = 1_000_000;

/** Whether all of them were counted. */
export const isCounted = (matched: number) => matched < MAX_MATCHED;

/** 1 000 000+; `part` of them if it is given. */
export const matchedText = (matched: number, part = matched) => count(part, isCounted(matched));

/** 1 job, 1 000 000+ jobs. */
export const matchedJobs = (matched: number, one = 'job') =>
  chosenJobs({ count: matched, exact: isCounted(matched) }, one);

/** 1 job, 10 000+ jobs. */
export function chosenJobs(chosen: Count, one = 'job'): string {
  return chosen.exact ? many(chosen.count, one) : `${count(chosen.count, false)}\u00a0${one}s`;
}

/** The number of chosen jobs that an action leaves out: 4, or 9 943+ if the chosen jobs were not all counted. */
export function leftOutOf(chosen: Count, matched: number): string {
  return isCounted(matched) ? count(Math.max(0, chosen.count - matched), chosen.exact) : NONE;
}
