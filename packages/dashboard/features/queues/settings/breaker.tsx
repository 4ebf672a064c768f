import { useState } from 'preact/compat';
import { changeQueue } from '../../../api/change-queue.ts';
import { request } from '../../../api/client.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { toast } from '../../../parts/toast.tsx';
import { breakerLead } from '../model/queue-settings.ts';
import { type QueueOfSettings, SetBreaker } from '../operations/queue-settings.ts';
import { DangerRow, useLinked } from './danger-row.tsx';

interface Props {
  queue: QueueOfSettings;
  onChanged: () => void;
}

export function Breaker({ queue, onChanged }: Props) {
  const [isOpen, setOpen] = useState(useLinked('breaker'));
  const { breaker } = queue;
  return (
    <DangerRow
      id="breaker"
      title={breaker === null ? 'No breaker' : 'Breaker is on'}
      action={
        <button type="button" className="btn" onClick={() => setOpen(true)}>
          {breaker === null ? 'Set a breaker' : 'Change'}
        </button>
      }
      dialog={isOpen && <BreakerDialog queue={queue} onChanged={onChanged} onClose={() => setOpen(false)} />}
    >
      {breakerLead(breaker)}
    </DangerRow>
  );
}

function BreakerDialog({ queue: { id, breaker }, onChanged, onClose }: Props & { onClose: () => void }) {
  const [failures, setFailures] = useState(String(breaker?.failures ?? (breaker === null ? 10 : '')));
  const [seconds, setSeconds] = useState(String(breaker?.seconds ?? ''));
  const isEmpty = failures.trim() === '' && seconds.trim() === '';
  const save = async () => {
    const input = isEmpty ? null : { failures: numberOf(failures), seconds: numberOf(seconds) };
    if (Number.isNaN(input?.failures) || Number.isNaN(input?.seconds)) return 'Not changed: both are whole numbers.';
    const outcome = await changeQueue(async () =>
      outcomeOf((await request(SetBreaker, { id, breaker: input })).setBreaker),
    );
    if (!outcome.ok) return `Not changed: ${[...outcome.fieldErrors.values()][0] ?? outcome.message}`;
    onClose();
    toast({ text: input === null ? 'The queue has no breaker' : 'The breaker is set' });
    onChanged();
    return null;
  };
  return (
    <Dialog
      title="When does the breaker open?"
      lead="It holds the queue, and one job at a time probes the receiver until it answers 2xx. Probes use up no attempt."
      action={{
        label: isEmpty && breaker !== null ? 'Remove the breaker' : 'Save',
        run: save,
        isDisabled: isEmpty && breaker === null,
      }}
      onClose={onClose}
    >
      <NumberField label="Failed answers in a row, 2 to 1000" value={failures} onChange={setFailures} />
      <NumberField label="Or seconds in which all have failed, 1 to 3600" value={seconds} onChange={setSeconds} />
      {failures.trim() === '' && !isEmpty && (
        <p className="q">By time alone, jobs that use up their attempts sooner die before it opens.</p>
      )}
      {breaker !== null && <p className="q">Both empty: the queue has no breaker.</p>}
    </Dialog>
  );
}

const numberOf = (text: string): number | null => {
  if (text.trim() === '') return null;
  return /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
};

function NumberField({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  const id = useUniqueId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        inputMode="numeric"
        autoComplete="off"
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </div>
  );
}
