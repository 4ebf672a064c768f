import { useEffect, useRef } from 'preact/compat';
import { Link } from 'wouter-preact';
import { many } from '../../../../query/words/format.ts';
import { useServer } from '../../../api/server.ts';
import { Crossing } from '../../../parts/crossing.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Note } from '../../../parts/note.tsx';
import { Ago } from '../../../parts/time.tsx';
import { AttemptsPanel } from '../job/attempts.tsx';
import { useJobActions } from '../job/job-actions.tsx';
import type { JobOfBeside } from '../operations/job.ts';

/** The course of the job that was sent, step by step, with the answer of the receiver. */
export function Result({
  job,
  created,
  isFresh,
}: {
  job: JobOfBeside;
  created: boolean;
  /** It was sent a moment ago, from this page. */
  isFresh: boolean;
}) {
  const server = useServer();
  const { buttons, dialog } = useJobActions(job);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the result is below the form.
    if (isFresh && panel.current !== null && panel.current.getBoundingClientRect().top > innerHeight * 0.75) {
      panel.current.scrollIntoView({ block: 'center' });
    }
  }, [isFresh]);
  const hasEnded = job.status === 'COMPLETED' || job.status === 'DEAD';
  return (
    <>
      {!created && (
        <Note signal="warn" icon="key">
          This idempotency key was used before, so nothing was published. Here is the job that has it.
        </Note>
      )}
      <section ref={panel} className="panel" aria-labelledby="result">
        <header>
          <h2 id="result">Result</h2>
          <span className="end">
            <Link className="btn quiet tiny" href={`/jobs/${job.id}`}>
              <Icon name="open" />
              Open job
            </Link>
          </span>
        </header>
        <div className="in">
          {server !== null && <Crossing job={job} webhookTimeoutSeconds={server.webhookTimeoutSeconds} isDown />}
          {job.progress?.text != null && (
            <p className="small">
              The worker says “{job.progress.text}”, <Ago at={job.progress.at} />
            </p>
          )}
          {!hasEnded && <div className="toolbar">{buttons}</div>}
        </div>
      </section>
      {(job.attempts.length > 0 || job.receipt !== null) && <AttemptsPanel job={job} />}
      <p className="sr" role="status">
        {hasEnded &&
          (job.status === 'COMPLETED'
            ? 'The job is completed.'
            : `The job is dead after ${many(job.attemptsMade, 'attempt')}.`)}
      </p>
      {dialog}
    </>
  );
}
