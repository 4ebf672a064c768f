import { useQuery } from '@tanstack/preact-query';
import { Link } from 'wouter-preact';
import type { JobChip } from '../../../../query/filter/jobs.ts';
import { jobsOfQueue, jobsPath, queuePath } from '../../../../query/filter/links.ts';
import { minute } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { query } from '../../../api/query.ts';
import { May } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Note } from '../../../parts/note.tsx';
import { TellMe } from '../../../parts/tell-me.tsx';
import { Time } from '../../../parts/time.tsx';
import { toast, toastFailure } from '../../../parts/toast.tsx';
import { alertOfCondition, CONDITIONS } from '../model/condition-words.ts';
import { allSlotsAwait, type Condition, conditionOf, type Flow, mayEndHold } from '../model/queue-condition.ts';
import { EndHold, type QueueOfPage, WarningsSince } from '../operations/queue.ts';

/** Notes on a bad receiver, a hold, tunnels and a new secret, each with a way on. */
export function QueueNotes({ queue, flow }: { queue: QueueOfPage; flow: Flow }) {
  const warnings = queue.health?.warnings ?? [];
  const since = useWarningsSince(queue.name, warnings.map(({ warning }) => warning).join());
  return (
    <div className="queue-notes">
      {queue.hold !== null && <HoldNote queue={queue} hold={queue.hold} />}
      {warnings.map(({ warning, message }) => (
        <WarningNote
          key={warning}
          queue={queue}
          flow={flow}
          warning={warning}
          message={message}
          since={since.get(warning)}
        />
      ))}
      {queue.ignoredNames !== null && <Note signal="warn">{queue.ignoredNames.message}</Note>}
      {queue.tunnels.map(({ id, openedBy, openedAt }) => (
        <Note key={id} signal="warn" icon="send">
          Deliveries go to a client that listens, and not to the webhook: {openedBy}, since <Time at={openedAt} />.
        </Note>
      ))}
      {queue.signingSecretRotatesAt !== null && (
        <Note icon="key" action={<SettingsLink name={queue.name} secret />}>
          A new secret takes over at <Time at={queue.signingSecretRotatesAt} />.
        </Note>
      )}
    </div>
  );
}

/** A warning that is older than the server looks back has null. One that came just now may be missing. */
function useWarningsSince(name: string, present: string): ReadonlyMap<string, string | null> {
  const result = useQuery({
    ...query(WarningsSince, () => ({ name }), { key: { name, present } }),
    enabled: present !== '',
    refetchInterval: 60_000,
  });
  return new Map(result.data?.queue?.health?.warnings.map(({ warning, firstSeen }) => [warning, firstSeen]));
}

type Warning = NonNullable<QueueOfPage['health']>['warnings'][number]['warning'];

const CONDITION_OF = {
  SIGNATURE_REJECTED: 'signature',
  FAILING: 'failing',
  SLOW_RECEIVER: 'slow',
  BACKPRESSURE: 'pressure',
} as const satisfies Record<Warning, Condition>;

function TellMeOf({ queue, condition }: { queue: QueueOfPage; condition: Condition }) {
  const alert = alertOfCondition(condition, queue);
  return alert === null ? null : <TellMe alert={alert} about={CONDITIONS[condition].word} />;
}

function WarningNote({
  queue,
  flow,
  warning,
  message,
  since,
}: {
  queue: QueueOfPage;
  flow: Flow;
  warning: Warning;
  message: string;
  since: string | null | undefined;
}) {
  const view = useView();
  const { icon, signal } = CONDITIONS[CONDITION_OF[warning]];
  // The first line of the page has the numbers; the advice comes after them.
  const text = CONDITION_OF[warning] === conditionOf(queue, flow, view) ? message.replace(/^.*?\. /, '') : message;
  return (
    <Note signal={signal} icon={icon} action={<WayOut queue={queue} warning={warning} />}>
      {text}
      {since === null && ' For more than a day.'}
      {since != null && ` Since about ${minute(Date.parse(since), view)}.`}{' '}
      <TellMeOf queue={queue} condition={CONDITION_OF[warning]} />
    </Note>
  );
}

/** The place where the warning can be dealt with. */
function WayOut({ queue, warning }: { queue: QueueOfPage; warning: Warning }) {
  const { name } = queue;
  if (warning === 'SIGNATURE_REJECTED') return <SettingsLink name={name} secret />;
  if (warning === 'FAILING') return <JobsLink name={name} states={['retrying', 'dead']} label="Jobs that fail" />;
  return warning === 'SLOW_RECEIVER' && allSlotsAwait(queue) ? (
    <JobsLink name={name} states={['awaiting-ack']} label="See these jobs" />
  ) : (
    <SettingsLink name={name} />
  );
}

type States = Extract<JobChip, { word: 'state' }>['value'];

function JobsLink({ name, states, label }: { name: string; states: States; label: string }) {
  return (
    <Link className="btn tiny" href={jobsPath(jobsOfQueue(name, { word: 'state', value: states }))}>
      {label}
    </Link>
  );
}

function SettingsLink({ name, secret = false }: { name: string; secret?: boolean }) {
  return (
    <May mutation="updateQueue">
      <Link className="btn tiny" href={`${queuePath(name, '/edit')}#${secret ? 'secret' : 'concurrency'}`}>
        {secret ? 'Signing secret' : 'Change concurrency'}
      </Link>
    </May>
  );
}

function HoldNote({ queue, hold }: { queue: QueueOfPage; hold: NonNullable<QueueOfPage['hold']> }) {
  const { id, name, paused } = queue;
  const { byBreaker, askedBy, probe, reason, since, until } = hold;
  const { now } = useView();
  const isFuture = Date.parse(until) > now;
  const [label, done] = byBreaker
    ? ['Probe now', `The next probe of ${name} is due`]
    : ['End the hold', `Hold of ${name} ended`];
  const end = async () => {
    const outcome = await changeQueue(async () => outcomeOf((await request(EndHold, { id })).endHold));
    if (outcome.ok) toast({ text: done, icon: 'play' });
    else toastFailure(`Hold of ${name} not ended: ${outcome.message}`);
  };
  return (
    <Note
      signal="hold"
      icon={probe === null ? 'held' : 'probe'}
      action={
        mayEndHold(queue, now) && (
          <May mutation="endHold">
            <button type="button" className="btn tiny" onClick={() => void end()}>
              {label}
            </button>
          </May>
        )
      }
    >
      {/* A hold that goes on keeps its start, and has its newest job. */}
      {byBreaker ? 'The breaker' : 'The queue'} {since === null ? 'is' : 'has been'} {byBreaker ? 'open' : 'held'}
      {since !== null && (
        <>
          {' since '}
          <Time at={since} />
        </>
      )}
      {'. '}
      {askedBy === null ? 'The receiver' : <JobLink id={askedBy.id} />}
      {byBreaker ? ' failed' : ' asked for it'}
      {reason !== null && `: “${reason}”`}
      {'. '}
      {!byBreaker || (isFuture && !paused) ? (
        <>
          {byBreaker ? 'The next probe is' : isFuture ? 'It ends' : 'It ended'} at <Time at={until} />
          {byBreaker && ', or when the webhook is changed'}.
        </>
      ) : (
        probe === null &&
        (paused ? 'No job probes it until the queue is resumed.' : 'The next job that is due probes it.')
      )}
      {probe !== null && (
        <>
          {' '}
          <JobLink id={probe.id} /> is the probe.
        </>
      )}{' '}
      <TellMeOf queue={queue} condition="held" />
    </Note>
  );
}

function JobLink({ id }: { id: string }) {
  return (
    <Link href={`/jobs/${id}`}>
      Job <span className="mono">{shortId(id)}</span>
    </Link>
  );
}
