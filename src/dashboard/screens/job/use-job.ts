import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type JobOfPage, JobPage, SameCause } from '../../graphql/operations/job.ts';
import { query } from '../../graphql/query.ts';
import { useWatch } from '../../live/live.ts';
import { isBehind } from '../../model/job.ts';

/** How often the attempts of one state are asked for, in case they were read before they were written. */
const MAX_TRIES = 3;
const RETRY_MS = 500;

/** One job with all that its page shows, kept current; nothing for null. */
export function useJob(id: string | null) {
  const asked = useQuery({ ...query(JobPage, { id: id ?? '' }), enabled: id !== null });
  useWatch({ jobIds: id === null ? [] : [id] });
  const job = asked.data?.job ?? undefined;
  // The stream sends what a list shows. When that has moved on, so have the attempts.
  const course = job === undefined ? '' : courseOf(job);
  const known = useRef({ course: '', tries: 0 });
  const { refetch, dataUpdatedAt } = asked;
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
  return {
    asked,
    job,
    cancelledBy: asked.data?.changes.nodes.find(({ action }) => action === 'job.cancel')?.actor ?? null,
  };
}

const courseOf = ({ status, attemptsMade, deferCount, scheduledFor, waiting, deadLetter }: JobOfPage) =>
  [status, attemptsMade, deferCount, scheduledFor, waiting?.reason, deadLetter?.replayedAt].join(' ');

/** How many dead letters have the same cause as this one. */
export function useSameCause(job: JobOfPage | undefined) {
  const fingerprint = job?.deadLetter?.fingerprint;
  const asked = useQuery({
    ...query(SameCause, {
      filter: { fingerprints: [fingerprint ?? ''], queueIds: [job?.queue.id ?? ''], replayed: false },
    }),
    enabled: fingerprint !== undefined,
  });
  return asked.data?.errorGroups[0] ?? null;
}
