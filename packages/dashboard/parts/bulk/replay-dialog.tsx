import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/compat';
import type { JobFilter } from '../../../query/filter/jobs.ts';
import { count, NONE } from '../../../query/words/format.ts';
import { request } from '../../api/client.ts';
import { Replay, ReplayContext, ReplayReceivers } from '../../api/operations/replay.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { query } from '../../api/query.ts';
import { leftOutOf, matchedJobs, matchedText } from '../../words/matched.ts';
import {
  DEFAULT_SPEED,
  durationOfReplay,
  isEverything,
  labelOfReplay,
  limitsOfQueue,
  planRefusal,
  type Receiver,
  SPEEDS,
  type Speed,
  safetyOfReplay,
  safetyOfReplays,
  termsOfReplay,
  wordOfSpeed,
} from '../../words/replay.ts';
import { Dialog, Price } from '../dialog.tsx';
import { Note } from '../note.tsx';
import { ActionNotes, usePricedAction } from './priced-action.tsx';
import type { ReplayTarget } from './replay-target.ts';

/** Asks before dead letters are replayed: those of a filter, or of the jobs of a list. */
export default function ReplayDialog({
  target,
  onStarted,
  onClose,
}: {
  target: ReplayTarget;
  onStarted: (actionId: string) => void;
  onClose: () => void;
}) {
  const { queue, lead } = target;
  const [speed, setSpeed] = useState<Speed>(DEFAULT_SPEED);
  const [isCanary, setCanary] = useState(true);
  const priced = usePricedAction({
    key: ['replay', target],
    ask: async (dryRun) => {
      const { filter, jobs } = target;
      const all = isEverything(jobs ?? filter ?? {}, queue !== null);
      const canary = isCanary && (priced.matched ?? 0) > 1;
      const variables = {
        ...(queue !== null && { queueId: queue.id }),
        filter,
        jobs,
        all,
        rate: speed,
        canary,
        dryRun,
      };
      return outcomeOf((await request(Replay, variables)).replayDeadLetters);
    },
    onStarted,
  });
  const { now, receivers, isAll, account, leftOut } = useContextOf(target, priced.matched);
  const { matched: jobs, isBusy } = priced;
  const canary = isCanary && jobs !== null && jobs > 1;
  const isNone = jobs === 0;
  const isKnown = jobs !== null && (queue === null || now !== null);
  const [duration, pace] = isKnown ? durationOfReplay(jobs, speed, now) : ['…', 'at this speed'];
  return (
    <Dialog
      title={titleOf(jobs, queue?.name ?? null)}
      lead={lead}
      action={{
        label: jobs === null || isNone ? 'Replay' : isBusy ? 'Starting…' : labelOfReplay(jobs, canary),
        run: priced.run,
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
          [jobs === null ? '…' : matchedText(jobs), jobs === 1 ? 'job sent again' : 'jobs sent again'],
          [isNone ? NONE : duration, pace],
          [leftOut, target.jobs === null ? 'skipped: replayed before' : 'skipped: not dead, or replayed'],
        ]}
      />
      <ActionNotes priced={priced} refused="Not replayed" before="you send them" />
      <Safety now={now} receivers={receivers} isAll={isAll} />
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
        {isKnown && <small>{limitsOfQueue(now)}</small>}
      </fieldset>
      {jobs !== null && jobs > 1 && (
        <label className="choice">
          <input type="checkbox" checked={isCanary} onChange={({ currentTarget: { checked } }) => setCanary(checked)} />
          <span>
            <b className="strong">Send 1 first</b>
            <small>
              The rest ({matchedText(jobs, jobs - 1)}) follows when it completes. If it dies, nothing more is sent.
            </small>
          </span>
        </label>
      )}
      {isKnown && jobs > 0 && (
        <p className="small q">
          {termsOfReplay(jobs, now)} <PlanRefusal jobs={jobs} account={account} />
        </p>
      )}
    </Dialog>
  );
}

/** The queue as it is now if there is one, else the receivers of all of them; and what is left of the month. */
function useContextOf({ queue, filter, jobs, receivers, chosen }: ReplayTarget, matched: number | null) {
  const replayed = { ...filter, ...(queue !== null && { queueIds: [queue.id] }), replayed: true };
  const result = useQuery(
    query(ReplayContext, {
      ...(queue !== null && { queueId: queue.id }),
      isOneQueue: queue !== null,
      isOfLetters: jobs === null,
      replayed,
    }),
  );
  const others = useQuery({
    ...query(ReplayReceivers, { jobs: { ...jobs, replayable: true } satisfies JobFilter }),
    enabled: jobs !== null,
  });
  const groups = others.data?.jobGroups;
  const before = result.data?.deadLetters;
  const leftOut =
    chosen === null
      ? before === undefined
        ? '…'
        : count(before.totalCount, before.totalCountExact)
      : matched === null
        ? '…'
        : leftOutOf(chosen, matched);
  return {
    now: result.data?.queue ?? null,
    receivers: receivers ?? groups?.groups.flatMap((group) => group.queue ?? []) ?? [],
    isAll: groups === undefined || groups.groupCount === groups.groups.length,
    account: result.data?.account,
    leftOut,
  };
}

function titleOf(jobs: number | null, queue: string | null): string {
  const of = queue === null ? '' : ` in ${queue}`;
  if (jobs === null) return `Replay jobs${of}?`;
  if (jobs === 0) return `Nothing${of} is left to replay`;
  return `Replay ${matchedJobs(jobs)}${of}?`;
}

function Safety({
  now,
  receivers,
  isAll,
}: {
  now: Parameters<typeof safetyOfReplay>[0] | null;
  receivers: readonly Receiver[];
  isAll: boolean;
}) {
  const safety = now === null ? safetyOfReplays(receivers, isAll) : safetyOfReplay(now);
  if (safety === null) return null;
  return (
    <Note signal={safety.signal} icon={safety.icon}>
      <b>{safety.strong}</b> {safety.text}
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
