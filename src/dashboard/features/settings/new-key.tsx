import { useId, useState } from 'react';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ShownOnce, ToCopy } from '../../parts/shown-once.tsx';
import { NewKey } from './operations.ts';

/** A key in full. It is nowhere but in the state of one component, and gone when that is closed. */
export interface MadeKey {
  id: string;
  name: string | null;
  key: string;
}

export function NewKeyDialog({ onMade, onClose }: { onMade: (made: MadeKey) => void; onClose: () => void }) {
  const id = useId();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    const outcome = outcomeOf((await request(NewKey, { name: name.trim() === '' ? null : name.trim() })).createApiKey);
    if (!outcome.ok) return setProblem(outcome.fieldErrors.get('name') ?? outcome.message);
    const { key, apiKey } = outcome.value;
    onMade({ ...apiKey, key });
    onClose();
    void queryClient.invalidateQueries({ queryKey: ['Keys'] });
  };
  const run = () => {
    if (isBusy) return;
    setBusy(true);
    make()
      .catch((error: Error) => setProblem(error.message))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title="Make an API key?"
      lead="One for each program, so that each can be revoked alone. It is shown once."
      deed={{ label: isBusy ? 'Making…' : 'Make the key', run, isDisabled: isBusy }}
      onClose={onClose}
    >
      <div className="field">
        <label htmlFor={id}>Name</label>
        <input
          id={id}
          className="input"
          value={name}
          maxLength={64}
          placeholder="shop backend"
          autoComplete="off"
          aria-invalid={problem !== null}
          aria-describedby={`${id}-note`}
          onChange={({ target: { value } }) => setName(value)}
        />
        <small
          id={`${id}-note`}
          className={problem === null ? undefined : 'bad'}
          role={problem === null ? undefined : 'alert'}
        >
          {problem ?? 'What uses it. At most 64 characters.'}
        </small>
      </div>
    </Dialog>
  );
}

export function KeyOnce({ made: { name, key }, onClose }: { made: MadeKey; onClose: () => void }) {
  const line = `JOBFERRY_API_KEY=${key}`;
  return (
    <ShownOnce
      title={<>{name === null ? 'The key' : `“${name}”`} is ready. Copy it now: it is shown only this once.</>}
      onClose={onClose}
    >
      <ToCopy text={key} what="Key" />
      <ToCopy text={line} what="Line for .env" />
      <p className="small q">Only its hash is kept. If it is lost, make a new one and revoke this one.</p>
    </ShownOnce>
  );
}
