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
  SEVERAL,
  type SeveralDeed,
  titleOf,
  undoneText,
} from '../model/several.ts';
import { LimitQueues, PauseQueues, type QueuesDone, RestoreLimits, ResumeQueues } from '../operations/several.ts';

/**
 * Asks before several queues are changed. The numbers are those of a dry run;
 * the deed is one request, and can be undone.
 */
export default function SeveralDialog({
  deed,
  choice,
  chosen,
  names = [],
  onDone,
  onClose,
}: {
  deed: SeveralDeed;
  choice: Choice;
  chosen: number;
  /** The names of the chosen queues; left out where the page lists no other queues. */
  names?: readonly string[] | undefined;
  onDone: () => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(NO_LIMITS);
  const { limits, problem } = limitsOf(draft);
  const asked = useSettled(JSON.stringify(limits));
  const isTyped = deed !== 'limit' || limits !== null;
  const price = useQuery({
    queryKey: ['Price', deed, choice, asked],
    queryFn: () => change(deed, choice, JSON.parse(asked) as LimitsInput | null, true),
    enabled: deed !== 'limit' || asked !== 'null',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnMount: false,
  });
  const would = price.data?.ok === true && isTyped ? price.data.value : null;
  const changed = would?.queues.flatMap(({ outcome, name }) => (outcome === 'CHANGED' ? [name ?? ''] : []));
  const named = names.length === 0 ? '' : namesText(changed?.length ? changed : names);
  const failure = problem?.text ?? (price.data?.ok === false ? price.data.message : (price.error?.message ?? null));
  const run = async () => {
    const outcome = await changeQueue(() => change(deed, choice, limits, false));
    if (!outcome.ok) {
      // Without an answer it may be done, and then another number is left.
      void price.refetch();
      return outcome.message;
    }
    const done = outcome.value;
    const action = { label: 'Undo', key: 'z', run: () => void undo(deed, done, limits) };
    toast({ text: outcomeText(deed, done), icon: SEVERAL[deed].icon, ...(done.changed > 0 && { action }) });
    onDone();
    return null;
  };
  return (
    <Dialog
      title={titleOf(deed, would, chosen)}
      lead={leadOf(deed, would)}
      deed={{
        label: labelOf(deed, would, chosen),
        isDisabled: !isTyped || problem !== null || would === null || would.changed === 0,
        run,
      }}
      onClose={onClose}
    >
      {named !== '' && <p className="q">{named}</p>}
      {deed === 'limit' && <LimitFields draft={draft} wrong={problem?.name} onChange={setDraft} />}
      <Price figures={figuresOf(deed, would)} />
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
  deed: SeveralDeed,
  queues: Choice,
  limits: LimitsInput | null,
  dryRun: boolean,
): Promise<Outcome<QueuesDone>> {
  if (deed === 'pause') return outcomeOf((await request(PauseQueues, { queues, dryRun })).pauseQueues);
  if (deed === 'resume') return outcomeOf((await request(ResumeQueues, { queues, dryRun })).resumeQueues);
  return outcomeOf((await request(LimitQueues, { queues, dryRun, limits: limits ?? {} })).limitQueues);
}

/** Puts back what the deed changed. Queues that were changed since stay as they are. */
async function undo(deed: SeveralDeed, done: QueuesDone, limits: LimitsInput | null): Promise<void> {
  const changed = done.queues.filter(({ outcome }) => outcome === 'CHANGED');
  const ids = changed.flatMap(({ id }) => id ?? []);
  const outcome = await changeQueue(() => undoing(deed, ids, changed, done.pausedAt, limits ?? {}));
  if (outcome.ok) toast({ text: undoneText(deed, outcome.value), icon: 'done' });
  else toastFailure(`Not undone: ${outcome.message}`);
}

async function undoing(
  deed: SeveralDeed,
  ids: string[],
  changed: QueuesDone['queues'],
  pausedAt: string | null,
  limits: LimitsInput,
): Promise<Outcome<QueuesDone>> {
  if (deed === 'pause')
    return outcomeOf((await request(ResumeQueues, { queues: { ids }, pausedAt, dryRun: false })).resumeQueues);
  if (deed === 'resume') return outcomeOf((await request(PauseQueues, { queues: { ids }, dryRun: false })).pauseQueues);
  const former = changed.flatMap(({ id, concurrency, rateLimitMax, rateLimitWindow }) =>
    id === null || concurrency === null || rateLimitWindow === null
      ? []
      : [{ id, concurrency, rateLimitMax, rateLimitWindow }],
  );
  return outcomeOf((await request(RestoreLimits, { former, limits })).restoreQueueLimits);
}
