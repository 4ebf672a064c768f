import { type Finding, warning } from './doctor.ts';

/** Jobs that were dated by a clock that was ahead, and wait for it. */
export interface FutureJobs {
  jobs: number;
  /** The time at which the last of them becomes due; null if there are none. */
  until: Date | null;
}

/** The finding of `doctor` about jobs that were dated by a clock that was ahead. */
export function judgeFutureJobs(future: FutureJobs): Finding[] {
  const what = futureJobsInWords(future);
  const fix = 'when the clock is right, make them due: "A clock was wrong" in docs/operations.md has the statement';
  return what === null ? [] : [warning('clock', what, fix)];
}

/** @returns null if there are none */
export function futureJobsInWords({ jobs, until }: FutureJobs): string | null {
  if (jobs === 0 || until === null) return null;
  const many = jobs === 1 ? '1 job was published or tried' : `${jobs} jobs were published or tried`;
  return `${many} while the database's clock was ahead: waiting until ${until.toISOString()} at the latest`;
}
