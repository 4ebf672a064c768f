import './attempts.css';
import { useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { bytes, firstLineOf, NONE, tookExactly, visible } from '../../../../query/words/format.ts';
import { NO_PAYLOADS } from '../../../../query/words/rights.ts';
import { ATTEMPTS, JOB_STATES } from '../../../../query/words/words.ts';
import { useRights } from '../../../api/rights.ts';
import { CopyButton } from '../../../parts/copy.tsx';
import { Status } from '../../../parts/status.tsx';
import { Time } from '../../../parts/time.tsx';
import { codeOf, isSilent, mayBeCut, sentenceOfSilence, shortCause } from '../../../words/cause.ts';
import type { AttemptNow, JobWhole } from '../../../words/job.ts';

interface AttemptWithBody extends AttemptNow {
  responseBody: string | null;
}

interface JobWithAttempts extends Pick<JobWhole, 'id' | 'attemptsMade' | 'maxAttempts' | 'receipt' | 'startedAt'> {
  attempts: readonly AttemptWithBody[];
}

/** The ended attempts of a job, newest first; the last one is open. A redelivery after a hold repeats its number. */
export function AttemptsPanel({ job }: { job: JobWithAttempts }) {
  const { attempts, maxAttempts } = job;
  const last = attempts.length - 1;
  const [open, setOpen] = useState<ReadonlySet<number> | 'all'>(new Set());
  // A new attempt is open until it is closed by hand.
  const isOpen = (index: number) => (open === 'all' ? true : open.has(index) !== (index === last));
  const toggle = (index: number) => {
    const all = open === 'all' ? new Set(attempts.map((_, n) => n).filter((n) => n !== last)) : new Set(open);
    if (!all.delete(index)) all.add(index);
    setOpen(all);
  };
  return (
    <section className="panel" aria-labelledby="attempts">
      <header>
        <h2 id="attempts">Attempts</h2>
        <span className="small q">
          {attempts.length === 0 ? `none of ${maxAttempts} ended yet` : `${attempts.length} ended, newest first`}
        </span>
        {attempts.length > 1 && (
          <span className="end">
            <Link className="btn quiet tiny" href={`/jobs/${job.id}/compare`}>
              Compare
            </Link>
            <button
              type="button"
              className="btn quiet tiny"
              onClick={() => setOpen(open === 'all' ? new Set() : 'all')}
            >
              {open === 'all' ? 'Hide answers' : 'Show all answers'}
            </button>
          </span>
        )}
      </header>
      <Receipt job={job} />
      {attempts.length > 0 && (
        <ol className="attempts" reversed>
          {attempts
            .map((attempt, index) => (
              <li key={`${attempt.at} ${attempt.attempt}`}>
                <AttemptLine attempt={attempt} isOpen={isOpen(index)} onToggle={() => toggle(index)} />
                {isOpen(index) && <AttemptBody attempt={attempt} />}
                {isOpen(index) && <Consequence attempt={attempt} />}
              </li>
            ))
            .reverse()}
        </ol>
      )}
    </section>
  );
}

function AttemptLine({
  attempt,
  isOpen,
  onToggle,
}: {
  attempt: AttemptWithBody;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const firstLine = firstLineOf(attempt.responseBody);
  return (
    <button type="button" className="att" aria-expanded={isOpen} onClick={onToggle}>
      <span className="no">#{attempt.attempt}</span>
      <Status word={ATTEMPTS[attempt.status]} />
      <span className="mono">{attempt.webhookStatusCode ?? NONE}</span>
      <span className="q cut err">
        {codeOf(attempt.error) === null && attempt.error !== null
          ? shortCause(attempt.error)
          : !isOpen && <code>{firstLine}</code>}
      </span>
      <span className="n q wait">{attempt.durationMs === null ? NONE : tookExactly(attempt.durationMs)}</span>
      <span className="n q3">
        <Time at={attempt.at} />
      </span>
    </button>
  );
}

/** In ack mode: the answer that confirmed the receipt. After the report it is part of an attempt. */
function Receipt({ job: { receipt, attemptsMade, startedAt } }: { job: JobWithAttempts }) {
  if (receipt === null) return null;
  const { webhookStatusCode, durationMs, responseBody } = receipt;
  return (
    <div className="attempts receipt">
      <div className="att">
        <span className="no">#{attemptsMade}</span>
        <Status word={{ ...JOB_STATES.AWAITING_ACK, word: 'Received' }} />
        <span className="mono">{webhookStatusCode}</span>
        <span className="q cut err">the worker’s report is pending</span>
        <span className="n q wait">{durationMs === null ? NONE : tookExactly(durationMs)}</span>
        <span className="n q3">{startedAt !== null && <Time at={startedAt} />}</span>
      </div>
      {responseBody !== null && responseBody !== '' && <Answer body={responseBody} />}
    </div>
  );
}

/** The answer is text, whatever it says it is. */
function Answer({ body }: { body: string }) {
  const size = new TextEncoder().encode(body).length;
  return (
    <div className="body">
      <header>
        <span>
          The receiver’s answer, {bytes(size)}
          {mayBeCut(body) && ': the first 4 KiB of it'}
        </span>
        <span className="end">
          <CopyButton text={body} what="Answer" />
        </span>
      </header>
      <pre className="pre" tabIndex={0} role="region" aria-label="The receiver’s answer">
        {visible(body)}
      </pre>
    </div>
  );
}

/** The consequence of the attempt, as decided when it ended. */
function Consequence({ attempt: { retryAt, heldUntil } }: { attempt: AttemptWithBody }) {
  const until = heldUntil ?? retryAt;
  if (until === null) return null;
  return (
    <p className="body small q">
      {heldUntil === null ? 'The retry was set for ' : 'The hold was set until '}
      <Time at={until} />.
    </p>
  );
}

function AttemptBody({ attempt }: { attempt: AttemptWithBody }) {
  const { responseBody: body, status, error } = attempt;
  const isHidden = useRights()?.mayViewPayloads === false;
  if (body !== null && body !== '') return <Answer body={body} />;
  const text = isSilent(attempt) ? sentenceOfSilence(error) : isHidden ? NO_PAYLOADS : 'The answer had no body.';
  return (
    <div className="body small q">
      <p>
        {status === 'DEFERRED' && 'No attempt was used. '}
        {text}
      </p>
    </div>
  );
}
