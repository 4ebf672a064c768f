import { useQuery } from '@tanstack/preact-query';
import { Fragment } from 'preact/compat';
import { Link } from 'wouter-preact';
import { jobsPath, queuePath } from '../../../../query/filter/links.ts';
import { pathOfSelection } from '../../../../query/filter/selection.ts';
import type { ResultOf } from '../../../../query/schema/graphql.ts';
import { isWell, sinceFailure, sumOfAnswers } from '../../../../query/words/answers.ts';
import { number, percent, span, time, took, upperFirst } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { wordOfJob } from '../../../../query/words/words.ts';
import { query } from '../../../api/query.ts';
import { useWebhookTimeout } from '../../../api/server.ts';
import { useNow, useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { ProgressBar } from '../../../parts/progress.tsx';
import { titleOfDeath } from '../../../words/cause.ts';
import { wordOfSpeed } from '../../../words/replay.ts';
import { isOpen, paceOfAction, progressText, stepsOf, toGoText, wordsOfKind } from '../model/action.ts';
import { MOST_COUNTED, type Share } from '../model/outcome.ts';
import { pairsOfSelection } from '../model/selection.ts';
import { type ActionOfPage, type Canary, CauseOfAction } from '../operations.ts';
import { useRate } from './use-rate.ts';

type CanaryJob = NonNullable<ResultOf<typeof Canary>['job']>;

export function Progress({ action }: { action: ActionOfPage }) {
  const { done } = wordsOfKind(action.kind);
  const label = upperFirst(done);
  const pace = paceOfAction(action, useRate(action));
  return (
    <section aria-label="Progress">
      <ProgressBar
        size="big"
        whole={action.matched}
        label={`${label}: ${progressText(action)}`}
        parts={[
          { value: action.succeeded, signal: 'run' },
          { value: action.skipped, signal: 'warn' },
        ]}
      />
      <div className="legend action-legend">
        <span>
          <i className="dot run" />
          {done} <b>{number(action.succeeded)}</b>
        </span>
        <span>
          <i className="dot warn" />
          skipped <b>{number(action.skipped)}</b>
        </span>
        <span>
          <i className="dot to-go" />
          {isOpen(action) ? 'to go' : 'not processed'} <b>{toGoText(action)}</b>
        </span>
        {pace !== '' && <span className="end">{pace}</span>}
      </div>
    </section>
  );
}

/** How many jobs are in which state now, with links to them. */
export function Outcome({ id, shares }: { id: string; shares: readonly Share[] }) {
  const parts = shares.flatMap(({ dot, count }) =>
    dot === 'to-go' || count === null ? [] : [{ value: count, signal: dot }],
  );
  const texts = shares.map(({ label, count }) => `${label} ${number(count ?? 0)}`);
  const whole = shares.reduce((sum, { count }) => sum + (count ?? 0), 0);
  return (
    <section className="sec" aria-labelledby="became">
      <div className="sec-head">
        <h2 id="became">Outcome of the jobs</h2>
        {parts.length === 0 && <span className="end">More than {number(MOST_COUNTED)} jobs are not counted.</span>}
      </div>
      {parts.length > 0 && <ProgressBar isMeter whole={whole} parts={parts} label={texts.join(', ')} />}
      <div className="legend action-legend">
        {shares.map(({ label, count, dot, chip }) => (
          <span key={label}>
            <i className={`dot ${dot}`} />
            {chip === undefined ? (
              label
            ) : (
              <Link className="link" href={jobsPath([{ word: 'action', value: id }, chip])}>
                {label}
              </Link>
            )}{' '}
            {count !== null && <b>{number(count)}</b>}
          </span>
        ))}
      </div>
    </section>
  );
}

export function Facts({ action, canary }: { action: ActionOfPage; canary: CanaryJob | null }) {
  const { leftOut } = wordsOfKind(action.kind);
  return (
    <section className="sec" aria-label="Facts">
      <dl className="facts">
        <Lasted action={action} />
        {action.queue !== null && <QueueMeanwhile queue={action.queue} />}
        <div>
          <dt>Skipped</dt>
          <dd>{number(action.skipped)}</dd>
          <dd className="sub">{action.skipped > 0 ? leftOut : isOpen(action) ? 'none so far' : 'none'}</dd>
        </div>
        {action.canary && <SentAhead id={action.canaryJobId} job={canary} />}
      </dl>
    </section>
  );
}

function Lasted({ action: { createdAt, finishedAt } }: { action: ActionOfPage }) {
  const now = useNow();
  const end = finishedAt === null ? now : Date.parse(finishedAt);
  return (
    <div>
      <dt>{finishedAt === null ? 'Since the start' : 'From start to end'}</dt>
      <dd>{finishedAt === null ? span(end - Date.parse(createdAt)) : took(end - Date.parse(createdAt))}</dd>
    </div>
  );
}

function QueueMeanwhile({ queue }: { queue: NonNullable<ActionOfPage['queue']> }) {
  const answers = queue.health === null ? 0 : sumOfAnswers(queue.health);
  const since = sinceFailure(queue.health);
  return (
    <div>
      <dt>{queue.name} now</dt>
      <dd>
        {number(queue.inFlight ?? 0)} <small>of {number(queue.concurrency)} slots</small>
      </dd>
      <dd className="sub">
        {queue.health !== null && answers > 0 && (
          <span className={since !== null || isWell(queue.health) ? undefined : 'worry'}>
            {since ?? `2xx to ${percent(queue.health.answered2xx, answers)} in the last hour`},{' '}
          </span>
        )}
        <Link className="link" href={queuePath(queue.name)}>
          see the queue
        </Link>
      </dd>
    </div>
  );
}

function SentAhead({ id, job }: { id: string | null; job: CanaryJob | null }) {
  const word = job === null ? null : wordOfJob(job);
  const ms = job?.attempts.at(-1)?.durationMs ?? null;
  const figure = job?.status === 'COMPLETED' ? 'ok-figure' : job?.status === 'DEAD' ? 'bad-figure' : undefined;
  return (
    <div>
      <dt>Canary</dt>
      <dd className={figure}>{word?.word ?? (id === null ? 'not yet' : '…')}</dd>
      {id !== null && (
        <dd className="sub">
          <Link className="link mono" href={`/jobs/${id}`}>
            {shortId(id)}
          </Link>
          {job?.status === 'COMPLETED' && ms !== null && ` in ${took(ms)}`}
        </dd>
      )}
    </div>
  );
}

export function Course({
  action,
  canary,
  stoppedBy,
}: {
  action: ActionOfPage;
  canary: CanaryJob | null;
  stoppedBy: string | null;
}) {
  const view = useView();
  return (
    <section aria-labelledby="course">
      <div className="sec-head">
        <h2 id="course">Timeline</h2>
      </div>
      <ol className="ticks">
        {stepsOf(action, canary, stoppedBy).map(({ at, icon, signal, text, jobId }) => (
          <li key={text} className={signal}>
            <time className="q3" dateTime={new Date(at).toISOString()}>
              {time(at, view)}
            </time>
            <Icon name={icon} />
            <span>
              {text}
              {jobId !== undefined && (
                <>
                  {' '}
                  <Link className="link mono" href={`/jobs/${jobId}`}>
                    {shortId(jobId)}
                  </Link>
                </>
              )}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A cause in words, as long as any of its dead letters is kept; else, and for several causes, the fingerprints. */
function CauseTitle({ fingerprint, queueId }: { fingerprint: string; queueId: string | null }) {
  const timeout = useWebhookTimeout();
  const isOne = !fingerprint.includes(',');
  const filter = { fingerprints: [fingerprint], ...(queueId !== null && { queueIds: [queueId] }) };
  const cause = useQuery({ ...query(CauseOfAction, { filter }), enabled: isOne }).data?.errorGroups[0];
  return cause === undefined ? <span className="mono">{fingerprint}</span> : titleOfDeath(cause, timeout);
}

export function WhatWasAsked({ action }: { action: ActionOfPage }) {
  const { queue, selection, ratePerSecond, canary, kind } = action;
  const path = pathOfSelection(kind, selection, queue?.name ?? null);
  const pairs = pairsOfSelection(selection);
  return (
    <section aria-labelledby="request">
      <div className="sec-head">
        <h2 id="request">Request</h2>
        <span className="end">
          <Link className="btn tiny" href={jobsPath([{ word: 'action', value: action.id }])}>
            <Icon name="jobs" />
            Its jobs
          </Link>
          {path !== null && (
            <Link className="btn tiny" href={path}>
              <Icon name="search" />
              Same filter again
            </Link>
          )}
        </span>
      </div>
      <dl className="pairs">
        {queue !== null && (
          <>
            <dt>Queue</dt>
            <dd>
              <Link className="link" href={queuePath(queue.name)}>
                {queue.name}
              </Link>
            </dd>
          </>
        )}
        {pairs.map(([label, value]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{label === 'Cause' ? <CauseTitle fingerprint={value} queueId={queue?.id ?? null} /> : value}</dd>
          </Fragment>
        ))}
        {kind === 'REPLAY_DEAD_LETTERS' && (
          <>
            <dt>Speed</dt>
            <dd>{wordOfSpeed(ratePerSecond)}</dd>
            <dt>Send 1 first</dt>
            <dd>{canary ? 'yes' : 'no'}</dd>
          </>
        )}
        {kind === 'PURGE_QUEUE' && (
          <>
            <dt>Jobs</dt>
            <dd>all that were pending at the start</dd>
          </>
        )}
      </dl>
    </section>
  );
}
