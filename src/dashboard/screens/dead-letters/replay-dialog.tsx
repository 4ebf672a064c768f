import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { request } from '../../graphql/client.ts';
import { type CauseRow, Replay, ReplayContext, ReplayPrice } from '../../graphql/operations/dead-letters.ts';
import { outcomeOf } from '../../graphql/outcome.ts';
import { query } from '../../graphql/query.ts';
import { titleOfDeath } from '../../model/cause.ts';
import type { DeadLetterFilter } from '../../model/dead/filter.ts';
import {
  DEFAULT_SPEED,
  deedOfReplay,
  durationOfReplay,
  limitsOfQueue,
  planRefusal,
  SPEEDS,
  type Speed,
  safetyOfReplay,
  termsOfReplay,
  wordOfSpeed,
} from '../../model/dead/replay.ts';
import { count, NONE, number } from '../../model/format.ts';
import { Dialog, Price } from '../../parts/dialog.tsx';
import { Note } from '../../parts/note.tsx';
import { followAction } from '../../shell/followed-actions.ts';

export interface ReplayTarget {
  queue: { id: string; name: string };
  /** The dead letters of the queue. Those that were replayed are left out in any case. */
  filter: DeadLetterFilter;
  /** What they have in common, as a sentence. */
  lead: string;
}

/** All of a cause that the filter lets through. Without its queue, nothing can be replayed. */
export function targetOfCause(
  cause: CauseRow,
  filter: DeadLetterFilter,
  webhookTimeoutSeconds: number,
): ReplayTarget | null {
  const queue = cause.sample?.queue ?? null;
  if (queue === null) return null;
  const title = titleOfDeath(cause, webhookTimeoutSeconds);
  const { replayed: _, queueIds: __, ...rest } = filter;
  return {
    queue,
    filter: { ...rest, fingerprints: [cause.fingerprint] },
    lead: `All that died of “${title}”.`,
  };
}

/** The number on the button is what will be replayed: it is asked for again before the deed. */
export function ReplayDialog({ target, onClose }: { target: ReplayTarget; onClose: () => void }) {
  const { queue, filter, lead } = target;
  const [, navigate] = useLocation();
  const [speed, setSpeed] = useState<Speed>(DEFAULT_SPEED);
  const [isCanary, setCanary] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [changedFrom, setChangedFrom] = useState<number | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const price = useQuery({
    ...query(ReplayPrice, { queueId: queue.id, filter }),
    ...{ staleTime: Number.POSITIVE_INFINITY, gcTime: 0, refetchOnMount: false as const },
  });
  const context = useQuery(
    query(ReplayContext, { queueId: queue.id, replayed: { ...filter, queueIds: [queue.id], replayed: true } }),
  );
  const outcome = price.data === undefined ? null : outcomeOf(price.data.replayDeadLetters);
  const jobs = outcome?.ok === true ? outcome.value.matched : null;
  const now = context.data?.queue ?? null;
  const before = context.data?.deadLetters;
  const canary = isCanary && jobs !== null && jobs > 1;

  const start = async () => {
    const asked = outcomeOf((await request(ReplayPrice, { queueId: queue.id, filter })).replayDeadLetters);
    if (!asked.ok) return setRefusal(asked.message);
    if (asked.value.matched !== jobs) {
      setChangedFrom(jobs);
      await price.refetch();
      return;
    }
    const { replayDeadLetters } = await request(Replay, { queueId: queue.id, filter, rate: speed, canary });
    const started = outcomeOf(replayDeadLetters);
    if (!started.ok) return setRefusal(started.message);
    const id = started.value.action?.id;
    onClose();
    if (id === undefined) return;
    followAction(id);
    navigate(`/actions/${id}`);
  };
  const run = () => {
    if (isBusy) return;
    setBusy(true);
    setRefusal(null);
    start()
      .catch((error: Error) => setRefusal(error.message))
      .finally(() => setBusy(false));
  };

  const failure = refusal ?? (outcome?.ok === false ? outcome.message : (price.error?.message ?? null));
  const isNone = jobs === 0;
  const [duration, pace] = jobs === null || now === null ? ['…', 'at this speed'] : durationOfReplay(jobs, speed, now);
  return (
    <Dialog
      title={jobs === null ? `Replay jobs of ${queue.name}?` : titleOf(jobs, queue.name)}
      lead={lead}
      deed={{
        label: jobs === null || isNone ? 'Replay' : isBusy ? 'Starting…' : deedOfReplay(jobs, canary),
        run,
        isDisabled: jobs === null || isNone || isBusy,
        start: (
          <span className="lo1">
            <kbd>Esc</kbd> closes
          </span>
        ),
      }}
      onClose={onClose}
    >
      <Price
        figures={[
          [jobs === null ? '…' : number(jobs), jobs === 1 ? 'job sent again' : 'jobs sent again'],
          [isNone ? NONE : duration, pace],
          [before === undefined ? '…' : count(before.totalCount, before.totalCountExact), 'replayed before, left out'],
        ]}
      />
      {changedFrom !== null && jobs !== null && (
        <Note signal="warn" icon="failing">
          <b>The number has changed</b> from {number(changedFrom)} to {number(jobs)}. Look again before you send them.
        </Note>
      )}
      {failure !== null && (
        <Note signal="bad" icon="failed">
          <span role="alert">
            <b>Not replayed.</b> {failure}
          </span>
        </Note>
      )}
      {now !== null && <Safety queue={now} />}
      <fieldset className="field">
        <legend className="sr">Speed</legend>
        <span className="lab" aria-hidden="true">
          Speed
        </span>
        <div className="seg fill speeds">
          {SPEEDS.map((one) => (
            <label key={String(one)}>
              <input type="radio" name="speed" checked={speed === one} onChange={() => setSpeed(one)} />
              {wordOfSpeed(one)}
            </label>
          ))}
        </div>
        {now !== null && <small>{limitsOfQueue(now)}</small>}
      </fieldset>
      {jobs !== null && jobs > 1 && (
        <label className="choice">
          <input type="checkbox" checked={isCanary} onChange={({ target: { checked } }) => setCanary(checked)} />
          <span>
            <b className="strong">Send 1 first</b>
            <small>The other {number(jobs - 1)} follow when it has completed. If it dies, nothing more is sent.</small>
          </span>
        </label>
      )}
      {now !== null && jobs !== null && jobs > 0 && (
        <p className="small q">
          {termsOfReplay(jobs, now)} <PlanRefusal jobs={jobs} account={context.data?.account} />
        </p>
      )}
    </Dialog>
  );
}

const titleOf = (jobs: number, queue: string) =>
  jobs === 0
    ? `Nothing of ${queue} is left to replay`
    : `Replay ${number(jobs)} ${jobs === 1 ? 'job' : 'jobs'} of ${queue}?`;

function Safety({ queue }: { queue: Parameters<typeof safetyOfReplay>[0] }) {
  const { signal, icon, strong, text } = safetyOfReplay(queue);
  return (
    <Note signal={signal} icon={icon}>
      <b>{strong}</b> {text}
    </Note>
  );
}

function PlanRefusal({
  jobs,
  account,
}: {
  jobs: number;
  account: { usage: { attempts: number }; plan: { monthlyAttempts: number | null } } | undefined;
}) {
  const text = account === undefined ? null : planRefusal(jobs, account.usage.attempts, account.plan.monthlyAttempts);
  return text === null ? null : <b className="trouble">{text}</b>;
}
