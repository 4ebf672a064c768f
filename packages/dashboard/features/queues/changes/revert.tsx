import type { ChangeEntry } from '../../../../query/schema/fragments.ts';
import { asSentence, many } from '../../../../query/words/format.ts';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Difference } from '../../../parts/difference.tsx';
import { Note } from '../../../parts/note.tsx';
import { toast } from '../../../parts/toast.tsx';
import { type Reversal, reversalOf } from '../model/queue-changes.ts';
import { type Breaker, inputOf, WHEN } from '../model/queue-settings.ts';
import { QueueSettings, SetBreaker, UpdateQueue } from '../operations/queue-settings.ts';

/** Asks before the settings of a change get their former values. Others of the queue stay as they are. */
export function RevertDialog({
  entry,
  queue: { id, name },
  back: { changes, newer },
  onDone,
  onClose,
}: {
  entry: ChangeEntry;
  queue: { id: string; name: string };
  back: Reversal;
  onDone: () => void;
  onClose: () => void;
}) {
  const count = many(changes.length, 'setting');
  const run = async (): Promise<string | null> => {
    // Another person may have changed it since the page was read.
    const { queue: present } = await request(QueueSettings, { name });
    const now = present === null ? null : reversalOf(entry, present);
    onDone();
    if (JSON.stringify(now?.changes) !== JSON.stringify(changes)) {
      return 'The queue was changed meanwhile. Nothing was reverted; this is what can be reverted now.';
    }
    const [first] = changes;
    const outcome = await changeQueue(async () =>
      first?.name === 'breaker'
        ? outcomeOf((await request(SetBreaker, { id, breaker: first.value as Breaker | null })).setBreaker)
        : outcomeOf((await request(UpdateQueue, { id, input: inputOf(changes) })).updateQueue),
    );
    if (!outcome.ok) return asSentence([...outcome.fieldErrors.values()][0] ?? outcome.message);
    toast({ text: `${count} of ${name} reverted` });
    onDone();
    onClose();
    return null;
  };
  return (
    <Dialog
      title={changes.length === 0 ? `Nothing in ${name} is left to revert` : `Revert ${count} of ${name}?`}
      lead="Only the settings of this change get their former values. You can revert this, too."
      action={changes.length === 0 ? null : { label: `Revert ${count}`, run }}
      onClose={onClose}
    >
      <dl className="diff">
        {changes.map(({ name: field, label, from, to, when }) => (
          <Difference key={field} label={label} before={from} after={to} note={WHEN[when]} />
        ))}
      </dl>
      {newer.map(({ label, present }) => (
        <Note key={label} signal="warn" icon="edit">
          {label} was changed again since, and stays as it is: {present}.
        </Note>
      ))}
    </Dialog>
  );
}
