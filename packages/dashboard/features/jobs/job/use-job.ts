import { type UseQueryResult, useQuery } from '@tanstack/preact-query';
import { useEffect, useRef } from 'preact/compat';
import type { RequestError } from '../../../api/errors.ts';
import { useWatch } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { courseOf, isBehind } from '../../../words/job.ts';
import { JobBeside, type JobOfBeside, type JobOfPage, JobPage, SameCause } from '../operations/job.ts';

/** How often the attempts of one state are fetched, in case they were read before they were written. */
const MAX_TRIES = 3;
const RETRY_MS = 500;

/** How often the number of jobs before a job is fetched: the live stream does not have it. */
const IN_LINE_MS = 5000;

type JobData = { job: JobOfBeside | JobOfPage | null } | undefined;
const pollWhileInLine = ({ state: { data } }: { state: { data: JobData } }) =>
  data?.job?.waiting?.reason === 'DUE' && data.job.waiting.ahead !== 0 ? IN_LINE_MS : false;

/** One job with all that its page shows, kept current. */
export function useJob(id: string) {
  return useCurrent(id, useQuery({ ...query(JobPage, { id }), refetchInterval: pollWhileInLine }));
}

/** One job with its course, kept current; nothing for null. */
export function useJobBeside(id: string | null) {
  const options = { ...query(JobBeside, { id: id ?? '' }), enabled: id !== null, refetchInterval: pollWhileInLine };
  return useCurrent(id, useQuery(options));
}

function useCurrent<Job extends JobOfBeside | JobOfPage>(
  id: string | null,
  result: UseQueryResult<{ job: Job | null }, RequestError>,
) {
  useWatch({ jobIds: id === null ? [] : [id] });
  const job = result.data?.job ?? undefined;
  // The stream sends what a list shows. When that has moved on, so have the attempts.
  const course = job === undefined ? '' : courseOf(job);
  const known = useRef({ course: '', tries: 0 });
  const { refetch, dataUpdatedAt } = result;
  useEffect(() => {
    const isNew = known.current.course !== course;
    const isFirst = known.current.course === '';
    if (isNew) known.current = { course, tries: 0 };
    const isOld = isNew && !isFirst;
    if (job === undefined || !(isOld || isBehind(job)) || known.current.tries >= MAX_TRIES) return;
    known.current.tries += 1;
    const timer = setTimeout(() => void refetch(), isNew ? 0 : RETRY_MS);
    return () => clearTimeout(timer);
  }, [course, job, refetch, dataUpdatedAt]);
  return { result, job };
}

/** How many dead letters have the same cause as this one. */
export function useSameCause(job: JobOfPage | undefined) {
  const fingerprint = job?.deadLetter?.fingerprint;
  const result = useQuery({
    ...query(SameCause, {
      filter: { fingerprints: [fingerprint ?? ''], queueIds: [job?.queue.id ?? ''], replayed: false },
    }),
    enabled: fingerprint !== undefined,
  });
  return result.data?.errorGroups[0] ?? null;
}
