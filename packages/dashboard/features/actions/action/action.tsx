import './action.css';
import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useState } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import { number } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { request } from '../../../api/client.ts';
import { showChanged, useIsPaused, useWatch } from '../../../api/live/live.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { query, queryClient } from '../../../api/query.ts';
import { May } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Page } from '../../../parts/page/page.tsx';
import { setQueuePaused } from '../../../parts/pause-queue.ts';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { toastFailure } from '../../../parts/toast.tsx';
import { matchedText } from '../../../words/matched.ts';
import { ActionsTable } from '../list/actions-table.tsx';
import {
  isOpen,
  leadOfAction,
  type PausedJobs,
  SIGNALS,
  sentenceOfAction,
  titleOfAction,
  toGoText,
  wordsOfKind,
} from '../model/action.ts';
import { hasOutcome, isSettled, MOST_COUNTED, sharesOf } from '../model/outcome.ts';
import {
  ActionJobs,
  type ActionOfPage,
  ActionPage,
  Canary,
  PauseAction,
  ResumeAction,
  StopAction,
} from '../operations.ts';
import { Course, Facts, Outcome, Progress, WhatWasAsked } from './parts.tsx';
import { useRate } from './use-rate.ts';

export default function Action({ params: { id = '' } }: { params: Record<string, string> }) {
  const [, navigate] = useLocation();
  const result = useQuery(query(ActionPage, { id }));
  const action = result.data?.bulkAction ?? null;
  const canaryId = action?.canaryJobId ?? null;
  const canary = useQuery({ ...query(Canary, { id: canaryId ?? '' }), enabled: canaryId !== null }).data?.job ?? null;
  const jobs = useItsJobs(id, action);
  const paused = pausedOf(jobs);
  const isGoing = action?.status === 'RUNNING' || (jobs !== undefined && !isSettled(jobs));
  const queueId = paused?.queue.id ?? (isGoing ? action?.queue?.id : undefined);
  // All at once, when it is known: each change of what is watched opens a new stream.
  useWatch({
    actionIds: action === null ? [] : [id],
    queueIds: queueId === undefined ? [] : [queueId],
    jobIds: canaryId === null ? [] : [canaryId],
  });
  useCommands([
    { key: 'Escape', label: 'Leave: the action continues', run: () => navigate('/actions'), isOnlyKey: true },
  ]);
  if (action === null) {
    return (
      <Page
        title="Action"
        crumbs={[{ label: 'Actions', to: '/actions' }, { label: shortId(id) }]}
        h1={result.data === undefined ? 'Action' : 'No action has this id.'}
      >
        <Failure result={result} what="This action" />
        {result.data === undefined ? (
          result.isLoading && <Skeleton lines={4} />
        ) : (
          <Empty title="It may have been removed">
            <p>Actions are kept for as long as the account’s history.</p>
            <Link className="btn tiny" href="/actions">
              All actions
            </Link>
          </Empty>
        )}
      </Page>
    );
  }
  const others = result.data?.bulkActions.nodes.filter((other) => other.id !== id).slice(0, 5) ?? [];
  const stoppedBy = result.data?.stops.nodes[0]?.actor ?? null;
  return (
    <Head action={action} paused={paused} stoppedBy={stoppedBy}>
      <Failure result={result} what="This action" />
      <Progress action={action} />
      {jobs !== undefined && hasOutcome(action) && <Outcome id={id} shares={sharesOf(jobs)} />}
      <Facts action={action} canary={canary} />
      <div className="halves">
        <Course action={action} canary={canary} stoppedBy={stoppedBy} />
        <WhatWasAsked action={action} />
      </div>
      {others.length > 0 && (
        <section className="sec" aria-labelledby="others">
          <div className="sec-head">
            <h2 id="others">Other actions</h2>
            <span className="end">
              <Link className="btn tiny quiet" href="/actions">
                All actions
              </Link>
            </span>
          </div>
          <ActionsTable actions={others} caption="Other actions, the newest first" />
        </section>
      )}
    </Head>
  );
}

/** The stream tells of the resume, and not of further jobs. */
const EVERY_MS = 5000;
/** With more jobs, they are counted less often. */
const MANY = 2000;

function useItsJobs(id: string, action: ActionOfPage | null) {
  const isPaused = useIsPaused();
  const succeeded = action?.succeeded ?? 0;
  const isCounted = action !== null && hasOutcome(action) && succeeded <= MOST_COUNTED;
  return useQuery({
    ...query(ActionJobs, { id, isCounted }),
    enabled: action !== null,
    refetchInterval: ({ state: { data } }) =>
      isPaused || (data !== undefined && isSettled(data)) ? false : EVERY_MS * (succeeded > MANY ? 3 : 1),
  }).data;
}

function pausedOf(answer: ReturnType<typeof useItsJobs>): PausedJobs | null {
  const queue = answer?.jobs.nodes[0]?.queue;
  return answer === undefined || queue == null || queue.pause === null
    ? null
    : { count: answer.jobs.totalCount, isExact: answer.jobs.totalCountExact, queue };
}

/** A component of its own, as it steps once a second. */
function Head({
  action,
  paused,
  stoppedBy,
  children,
}: {
  action: ActionOfPage;
  paused: PausedJobs | null;
  stoppedBy: string | null;
  children: ReactNode;
}) {
  const view = useView();
  const rate = useRate(action);
  const [isAsking, setAsking] = useState(false);
  const { name, icon } = wordsOfKind(action.kind);
  const isPaused = action.status === 'PAUSED';
  const toggle = () => void togglePause(action).catch((error: Error) => toastFailure(error.message));
  const toggling = isPaused
    ? ({ label: 'Resume', icon: 'play', mutation: 'resumeBulkAction' } as const)
    : ({ label: 'Pause', icon: 'pause', mutation: 'pauseBulkAction' } as const);
  const stop = { key: 'c', label: 'Stop this action', icon: 'stop', run: () => setAsking(true) } as const;
  useCommands(
    isOpen(action)
      ? [
          { ...toggling, key: 'p', label: `${toggling.label} this action`, run: toggle },
          { ...stop, mutation: 'cancelBulkAction' },
        ]
      : [],
  );
  return (
    <Page
      title={titleOfAction(action, paused)}
      crumbs={[
        { label: 'Actions', to: '/actions' },
        { label: name },
        { label: <span className="mono">{shortId(action.id)}</span> },
      ]}
      sign={{ icon, signal: SIGNALS[action.status] }}
      h1={sentenceOfAction(action, { rate, stoppedBy, paused })}
      lead={<Phrase pieces={leadOfAction(action, view)} />}
      actions={
        <>
          {paused !== null && (
            <May mutation="resumeQueue">
              <button type="button" className="btn primary" onClick={() => void setQueuePaused(paused.queue, false)}>
                <Icon name="play" />
                Resume queue {paused.queue.name}
              </button>
            </May>
          )}
          {isOpen(action) && (
            <>
              <May mutation={toggling.mutation}>
                <button type="button" className="btn" onClick={toggle}>
                  <Icon name={toggling.icon} />
                  {toggling.label}
                  <kbd>p</kbd>
                </button>
              </May>
              <May mutation="cancelBulkAction">
                <button type="button" className="btn danger" onClick={() => setAsking(true)}>
                  <Icon name="stop" />
                  Stop…
                  <kbd>c</kbd>
                </button>
              </May>
            </>
          )}
        </>
      }
    >
      {children}
      {isAsking && <StopDialog action={action} onClose={() => setAsking(false)} />}
    </Page>
  );
}

/** At once, without a question: it can be undone by the same key. */
async function togglePause({ id, status }: ActionOfPage): Promise<void> {
  const outcome =
    status === 'PAUSED'
      ? outcomeOf((await request(ResumeAction, { id })).resumeBulkAction)
      : outcomeOf((await request(PauseAction, { id })).pauseBulkAction);
  if (!outcome.ok) toastFailure(`Not ${status === 'PAUSED' ? 'resumed' : 'paused'}: ${outcome.message}`);
  else if (outcome.value.action !== null) showChanged([outcome.value.action]);
}

function StopDialog({ action, onClose }: { action: ActionOfPage; onClose: () => void }) {
  const { others, done } = wordsOfKind(action.kind);
  const isOver = !isOpen(action);
  const stop = async () => {
    const outcome = outcomeOf((await request(StopAction, { id: action.id })).cancelBulkAction);
    // The audit log has the person who stopped it.
    void queryClient.invalidateQueries({ queryKey: ['ActionPage'] });
    if (!outcome.ok) return `Not stopped: ${outcome.message}`;
    onClose();
    return null;
  };
  return (
    <Dialog
      title={
        isOver ? 'It has ended' : `Stop after ${number(action.processed)} of ${matchedText(action.matched)} ${others}?`
      }
      action={{
        label: 'Stop',
        isDanger: true,
        isDisabled: isOver,
        run: stop,
        start: (
          <span className="lo1">
            <kbd>Esc</kbd> closes
          </span>
        ),
      }}
      onClose={onClose}
    >
      <p className="q">
        What is {done} stays {done}. The rest ({toGoText(action)}) stays as it is.
      </p>
    </Dialog>
  );
}
