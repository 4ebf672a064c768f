import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/compat';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { type Outcome, outcomeOf } from '../../../api/outcome.ts';
import { useSettled } from '../../../base/use-settled.ts';
import { Dialog, Price } from '../../../parts/dialog.tsx';
import { Note } from '../../../parts/note.tsx';
import { toast, toastFailure } from '../../../parts/toast.tsx';
import {
  type Choice,
  figuresOf,
  type LimitDraft,
  type LimitsInput,
  labelOf,
  leadOf,
  limitsOf,
  NO_LIMITS,
  namesText,
  outcomeText,
  type QueuesAction,
  SEVERAL,
  titleOf,
  undoneText,
} from '../model/several.ts';
import { LimitQueues, PauseQueues, type QueuesDone, RestoreLimits, ResumeQueues } from '../operations/several.ts';

/**
 * Asks before several queues are changed. The numbers are those of a dry run;
 * the action is one request, and can be undone.
 */
export default function SeveralDialog({
  action,
  choice,
  chosen,
  names = [],
  onDone,
  onClose,
}: {
  action: QueuesAction;
  choice: Choice;
  chosen: number;
  /** The names of the chosen queues; left out where the page lists no other queues. */
  names?: readonly string[] | undefined;
  onDone: () => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(NO_LIMITS);
  const { limits, problem } = limitsOf(draft);
  const settled = useSettled(JSON.stringify(limits));
  const isTyped = action !== 'limit' || limits !== null;
  const price = useQuery({
    queryKey: ['Price', action, choice, settled],
    queryFn: () => change(action, choice, JSON.parse(settled) as LimitsInput | null, true),
    enabled: action !== 'limit' || settled !== 'null',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnMount: false,
  });
  const would = price.data?.ok === true && isTyped ? price.data.value : null;
  const changed = would?.queues.flatMap(({ outcome, name }) => (outcome === 'CHANGED' ? [name ?? ''] : []));
  const named = names.length === 0 ? '' : namesText(changed?.length ? changed : names);
  const failure = problem?.text ?? (price.data?.ok === false ? price.data.message : (price.error?.message ?? null));
  const run = async () => {
    const outcome = await changeQueue(() => change(action, choice, limits, false));
    if (!outcome.ok) {
      // Without an answer it may be done, and then another number is left.
      void price.refetch();
      return outcome.message;
    }
    const done = outcome.value;
    const undoIt = { label: 'Undo', key: 'z', run: () => void undo(action, done, limits) };
    toast({ text: outcomeText(action, done), icon: SEVERAL[action].icon, ...(done.changed > 0 && { action: undoIt }) });
    onDone();
    return null;
  };
  return (
    <Dialog
      title={titleOf(action, would, chosen)}
      lead={leadOf(action, would)}
      action={{
        label: labelOf(action, would, chosen),
        isDisabled: !isTyped || problem !== null || would === null || would.changed === 0,
        run,
      }}
      onClose={onClose}
    >
      {named !== '' && <p className="q">{named}</p>}
      {action === 'limit' && <LimitFields draft={draft} wrong={problem?.name} onChange={setDraft} />}
      <Price figures={figuresOf(action, would)} />
      {failure !== null && (problem !== null || isTyped) && (
        <Note signal="bad" icon="failed">
          <span role="alert">{failure}</span>
        </Note>
      )}
    </Dialog>
  );
}

const FIELDS: readonly (readonly [name: keyof LimitDraft, label: string, placeholder: string])[] = [
  ['concurrency', 'Concurrency', 'unchanged'],
  ['rateLimitMax', 'Rate limit', 'unchanged, or none'],
  ['rateLimitWindow', 'Window in seconds', 'unchanged'],
];

function LimitFields({
  draft,
  wrong,
  onChange,
}: {
  draft: LimitDraft;
  /** The field that has no limit that can be used. */
  wrong: keyof LimitDraft | undefined;
  onChange: (draft: LimitDraft) => void;
}) {
  return (
    <div className="two">
      {FIELDS.map(([name, label, placeholder]) => (
        <label key={name} className="field">
          <span className="label">{label}</span>
          <input
            className="input"
            inputMode={name === 'rateLimitMax' ? 'text' : 'decimal'}
            autoComplete="off"
            placeholder={placeholder}
            aria-invalid={name === wrong}
            value={draft[name]}
            onChange={({ currentTarget }) => onChange({ ...draft, [name]: currentTarget.value })}
          />
        </label>
      ))}
    </div>
  );
}

async function change(
  action: QueuesAction,
  queues: Choice,
  limits: LimitsInput | null,
  dryRun: boolean,
): Promise<Outcome<QueuesDone>> {
  if (action === 'pause') return outcomeOf((await request(PauseQueues, { queues, dryRun })).pauseQueues);
  if (action === 'resume') return outcomeOf((await request(ResumeQueues, { queues, dryRun })).resumeQueues);
  return outcomeOf((await request(LimitQueues, { queues, dryRun, limits: limits ?? {} })).limitQueues);
}

/** Puts back what the action changed. Queues that were changed since stay as they are. */
async function undo(action: QueuesAction, done: QueuesDone, limits: LimitsInput | null): Promise<void> {
  const changed = done.queues.filter(({ outcome }) => outcome === 'CHANGED');
  const ids = changed.flatMap(({ id }) => id ?? []);
  const outcome = await changeQueue(() => undoing(action, ids, changed, done.pausedAt, limits ?? {}));
  if (outcome.ok) toast({ text: undoneText(action, outcome.value), icon: 'done' });
  else toastFailure(`Not undone: ${outcome.message}`);
}

async function undoing(
  action: QueuesAction,
  ids: string[],
  changed: QueuesDone['queues'],
  pausedAt: string | null,
  limits: LimitsInput,
): Promise<Outcome<QueuesDone>> {
  if (action === 'pause')
    return outcomeOf((await request(ResumeQueues, { queues: { ids }, pausedAt, dryRun: false })).resumeQueues);
  if (action === 'resume')
    return outcomeOf((await request(PauseQueues, { queues: { ids }, dryRun: false })).pauseQueues);
  const former = changed.flatMap(({ id, concurrency, rateLimitMax, rateLimitWindow }) =>
    id === null || concurrency === null || rateLimitWindow === null
      ? []
      : [{ id, concurrency, rateLimitMax, rateLimitWindow }],
  );
  return outcomeOf((await request(RestoreLimits, { former, limits })).restoreQueueLimits);
}
