import './queue-settings.css';
import { useQuery } from '@tanstack/preact-query';
import { useEffect, useRef, useState } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import { many } from '../../../../query/words/format.ts';
import { may, refusal, roleFor } from '../../../../query/words/rights.ts';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { useWatch } from '../../../api/live/live.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { query } from '../../../api/query.ts';
import { useRights } from '../../../api/rights.ts';
import { useLeaveGuard } from '../../../base/leave.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { GoneQueue } from '../../../parts/page/gone-queue.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Page } from '../../../parts/page/page.tsx';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { toast } from '../../../parts/toast.tsx';
import { type Edits, type FieldName, inputOf, review, sentenceOfReview } from '../model/queue-settings.ts';
import {
  type QueueOfSettings,
  QueueSettings as QueueSettingsQuery,
  UpdateQueue,
} from '../operations/queue-settings.ts';
import { ChangesPanel } from './changes-panel.tsx';
import { Danger } from './danger.tsx';
import { SettingsForm } from './form.tsx';

/**
 * The typed text, by queue. It outlives the page, so that the back button loses nothing; closing the tab forgets it.
 */
const drafts = new Map<string, Edits>();

function useDraft(queueId: string) {
  const [edits, setEdits] = useState<Edits>(drafts.get(queueId) ?? {});
  const set = (next: Edits) => {
    if (Object.keys(next).length === 0) drafts.delete(queueId);
    else drafts.set(queueId, next);
    setEdits(next);
  };
  return {
    edits,
    edit: (name: FieldName, text: string) => set({ ...edits, [name]: text }),
    /** Forgets what was saved. What was typed while it was being saved stays. */
    saved: (sent: Edits) => {
      const present = Object.entries(drafts.get(queueId) ?? {}) as [FieldName, string][];
      set(Object.fromEntries(present.filter(([name, text]) => sent[name] !== text)));
    },
    reset: () => set({}),
  };
}

const FORM = 'settings-form';
/** The stream does not tell all settings, nor that the queue is deleted. */
const EVERY_MS = 15_000;

/** Shows the settings of a queue, what an edit changes, and when. */
export default function QueueSettings({ params: { name = '' } }: { params: Record<string, string> }) {
  const result = useQuery({ ...query(QueueSettingsQuery, { name }), refetchInterval: EVERY_MS });
  const queue = result.data?.queue;
  if (queue === null) return <GoneQueue name={name} />;
  if (queue === undefined) {
    return (
      <Page title={`Settings of ${name}`} crumbs={crumbsOf(name)} h1="Change a setting to see when it takes effect.">
        <Failure result={result} what="The settings of this queue" />
        <Skeleton lines={6} />
      </Page>
    );
  }
  return <Settings queue={queue} result={result} plan={result.data?.account.plan ?? null} />;
}

const crumbsOf = (name: string) => [
  { label: 'Queues', to: '/queues' },
  { label: name, to: queuePath(name) },
  { label: 'Settings' },
];

function Settings({
  queue,
  result,
  plan,
}: {
  queue: QueueOfSettings;
  result: Parameters<typeof Failure>[0]['result'];
  plan: { maxAttempts: number; maxDefers: number } | null;
}) {
  const { id, name, concurrency, mode, ackTimeout, rateLimitMax, rateLimitWindow } = queue;
  const [, navigate] = useLocation();
  const { edits, edit, saved, reset } = useDraft(id);
  const [refused, setRefused] = useState<{ message: string; fields: ReadonlyMap<string, string> } | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [go, setGo] = useState<(() => void) | null>(null);
  useWatch({ queueIds: [id] });
  const settings = JSON.stringify([concurrency, mode, ackTimeout, rateLimitMax, rateLimitWindow]);
  const known = useRef(settings);
  const { refetch } = result;
  // The stream tells a part of a change.
  useEffect(() => {
    if (known.current !== settings) void refetch();
    known.current = settings;
  }, [settings, refetch]);
  useHashTarget();
  const rights = useRights();
  const canEdit = may(rights, 'updateQueue');
  const reviewed = review(queue, edits);
  const { changes, problems } = reviewed;
  useLeaveGuard(changes.length + problems.size > 0, (leave) => setGo(() => leave));
  useCommands([{ key: 'Escape', label: `Back to ${name}`, run: () => navigate(queuePath(name)), isOnlyKey: true }]);

  const save = async () => {
    if (isSaving) return;
    if (problems.size > 0) focusField([...problems.keys()][0] as FieldName);
    if (problems.size > 0 || changes.length === 0) return;
    setSaving(true);
    const outcome = await changeQueue(async () =>
      outcomeOf((await request(UpdateQueue, { id, input: inputOf(changes) })).updateQueue),
    );
    setSaving(false);
    void refetch();
    if (outcome.ok) {
      setRefused(null);
      saved(edits);
      toast({ text: `${many(changes.length, 'setting')} of ${name} changed` });
      return;
    }
    setRefused({ message: outcome.message, fields: outcome.fieldErrors });
    const [first] = outcome.fieldErrors.keys();
    if (first !== undefined) focusField(first as FieldName);
  };
  return (
    <Page
      title={`Settings of ${name}`}
      crumbs={crumbsOf(name)}
      h1={
        canEdit || rights === null
          ? sentenceOfReview(reviewed)
          : refusal(rights, roleFor('updateQueue'), `change the settings of ${name}`)
      }
      lead={canEdit && 'Nothing is saved until you press Save. Jobs in flight are not affected.'}
      actions={
        <Link className="btn" href={queuePath(name, '/changes')}>
          <Icon name="activity" />
          Change history
        </Link>
      }
    >
      <Failure result={result} what="The settings of this queue" />
      <div className="cols settings-cols">
        <SettingsForm
          id={FORM}
          queue={queue}
          plan={plan}
          edits={edits}
          problems={problems}
          refused={refused?.fields ?? new Map()}
          isReadOnly={!canEdit}
          onEdit={(field, text) => {
            setRefused(null);
            edit(field, text);
          }}
          onSave={() => void save()}
        />
        {canEdit && (
          <ChangesPanel
            form={FORM}
            review={reviewed}
            refusal={refused?.message ?? null}
            isSaving={isSaving}
            onReset={() => {
              setRefused(null);
              reset();
            }}
          />
        )}
        <Danger queue={queue} onChanged={() => void refetch()} onGone={reset} />
      </div>
      {go !== null && (
        <Dialog
          title={`Leave without saving ${many(changes.length + problems.size, 'change')}?`}
          lead="What you typed will be lost."
          action={{
            label: 'Leave',
            isDanger: true,
            run: () => {
              setGo(null);
              reset();
              go();
            },
          }}
          onClose={() => setGo(null)}
        />
      )}
    </Page>
  );
}

/** `#concurrency` of a link is the field to change, `#purge` the part of the page. */
function useHashTarget(): void {
  // A row that opens its dialog removes the hash.
  const [target] = useState(() => location.hash.slice(1));
  useEffect(() => {
    if (target === '') return;
    // After the page has scrolled to its start and focused its heading.
    const frame = requestAnimationFrame(() => focusField(target));
    return () => cancelAnimationFrame(frame);
  }, [target]);
}

function focusField(id: string): void {
  const target = document.getElementById(id);
  target?.scrollIntoView({ block: 'center' });
  target?.focus({ preventScroll: true });
}
