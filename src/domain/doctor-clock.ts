import { type Finding, warning } from './doctor.ts';

/** Jobs with a time that the database's clock set while it was ahead. */
export interface DatedJobs {
  jobs: number;
  /** The latest of these times. */
  until: Date;
}

/** Jobs that were dated by a clock that was ahead; null for none. */
export interface FutureJobs {
  /** Jobs that wait for a delivery. */
  waiting: DatedJobs | null;
  /** Jobs that await a report. */
  reports: DatedJobs | null;
}

/** The findings of `doctor` about jobs that were dated by a clock that was ahead. */
export function judgeFutureJobs(future: FutureJobs): Finding[] {
  const fix =
    'when the clock is right, correct them: "A clock was wrong" in docs/troubleshooting.md has the statements';
  return futureJobsInWords(future).map((what) => warning('clock', what, fix));
}

/** A sentence for each kind of which there are jobs. */
export function futureJobsInWords({ waiting, reports }: FutureJobs): string[] {
  const jobs = (one: DatedJobs) => (one.jobs === 1 ? '1 job was' : `${one.jobs} jobs were`);
  const wrong = "while the database's clock was ahead";
  return [
    ...(waiting === null
      ? []
      : [`${jobs(waiting)} published, tried or given back ${wrong}: waiting until ${latest(waiting)}`]),
    ...(reports === null
      ? []
      : [`${jobs(reports)} sent ${wrong}: each has a slot of its queue until its report, or until ${latest(reports)}`]),
  ];
}

function latest({ until }: DatedJobs): string {
  return `${until.toISOString()} at the latest`;
}
