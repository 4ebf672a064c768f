import { Link } from 'wouter-preact';
import { toSearch } from '../../../../query/filter/search.ts';
import { isWell, sinceFailure, sumOfAnswers } from '../../../../query/words/answers.ts';
import { many, minute, number, percent } from '../../../../query/words/format.ts';
import { wordOfJob } from '../../../../query/words/words.ts';
import { useWatch } from '../../../api/live/live.ts';
import { useMay } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Note } from '../../../parts/note.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { isOfWorker } from '../../../words/cause.ts';
import { replayText } from '../../../words/job-sentence.ts';
import type { JobOfPage } from '../operations/job.ts';
import { useSameCause } from './use-job.ts';

/** Notes on a dead job: how many died of the same, and whether its receiver works again. */
export function JobNotes({ job }: { job: JobOfPage }) {
  const view = useView();
  const canReplay = useMay('replayDeadLetters');
  const cause = useSameCause(job);
  const { deadLetter, queue } = job;
  if (deadLetter?.replayedAt != null) return <ReplayNote {...deadLetter} at={deadLetter.replayedAt} />;
  if (deadLetter === null || cause === null) return null;
  const others = cause.count - 1;
  const [first, last] = [minute(Date.parse(cause.firstSeen), view), minute(Date.parse(cause.lastSeen), view)];
  const together = `/dead${toSearch({ q: `queue:${queue.name} cause:${cause.fingerprint}` })}`;
  const { health } = queue;
  const failure = { error: job.lastError, code: job.attempts.at(-1)?.webhookStatusCode ?? null };
  const since = sinceFailure(health);
  const isWellNow = health !== null && (since !== null || isWell(health)) && !isOfWorker(job.deadReason ?? '', failure);
  if (!isWellNow && others === 0) return null;
  return (
    <div className="job-note">
      <Note
        signal={isWellNow ? 'ok' : 'idle'}
        icon={isWellNow ? 'done' : 'dead'}
        action={
          <Link className="btn tiny" href={together}>
            {!isWellNow
              ? 'See them together'
              : others === 0 || !canReplay
                ? 'See its cause'
                : `Replay all ${number(cause.count)}…`}
          </Link>
        }
      >
        {isWellNow && since !== null ? (
          <>
            <b>The receiver works again:</b> {since}.
          </>
        ) : isWellNow ? (
          <>
            <b>The receiver was healthy in the last hour:</b> it accepted{' '}
            {percent(health.answered2xx, sumOfAnswers(health))} of {number(sumOfAnswers(health))} deliveries, and no job
            has died of this since {last}.
          </>
        ) : (
          <>
            {many(others, 'other job', 'other jobs')} in {queue.name} died of the same cause{' '}
            {first === last ? `at ${first}` : `between ${first} and ${last}`}.
          </>
        )}
      </Note>
    </div>
  );
}

/** The outcome of a dead job that was sent again. */
function ReplayNote({
  at,
  replayedJob,
  lastReplay: replay = null,
}: { at: string } & Partial<NonNullable<JobOfPage['deadLetter']>>) {
  const view = useView();
  const word = replay === null ? null : wordOfJob(replay);
  useWatch({ jobIds: replay === null ? [] : [replay.id] });
  return (
    <div className="job-note">
      <Note signal={word?.signal ?? 'idle'} icon={word?.icon ?? 'undo'}>
        <Phrase pieces={replayText(at, replay, view, replay?.id === replayedJob?.id)} />{' '}
        {replay !== null && (
          <Link className="link" href={`/jobs/${replay.id}`}>
            See the replay
          </Link>
        )}
      </Note>
    </div>
  );
}
