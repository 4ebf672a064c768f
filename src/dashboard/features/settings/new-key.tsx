import { useQueries } from '@tanstack/preact-query';
import { useId, useState } from 'preact/compat';
import { request } from '../../api/client.ts';
import { QueueOfName } from '../../api/operations/shell.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { query, queryClient } from '../../api/query.ts';
import { serverNow } from '../../base/clock.ts';
import { useSettled } from '../../base/use-settled.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ShownOnce, ToCopy } from '../../parts/shown-once.tsx';
import {
  ENDS,
  type End,
  inputOf,
  type KeyDraft,
  missingText,
  NEW_KEY,
  namesIn,
  problemOf,
  SCOPES,
  withScope,
} from './model/new-key.ts';
import { NewKey } from './operations.ts';

/** A key in full. It is nowhere but in the state of one component, and gone when that is closed. */
export interface MadeKey {
  id: string;
  name: string | null;
  key: string;
}

export function NewKeyDialog({ onMade, onClose }: { onMade: (made: MadeKey) => void; onClose: () => void }) {
  const id = useId();
  const [draft, setDraft] = useState(NEW_KEY);
  const [refusal, setRefusal] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const edit = (change: Partial<KeyDraft>) => setDraft({ ...draft, ...change });
  const missing = missingText(useMissing(draft.queues));
  const problem = refusal ?? problemOf(draft);
  const make = async () => {
    const outcome = outcomeOf((await request(NewKey, inputOf(draft, serverNow()))).createApiKey);
    if (!outcome.ok) return setRefusal([...outcome.fieldErrors.values()][0] ?? outcome.message);
    const { key, apiKey } = outcome.value;
    onMade({ ...apiKey, key });
    onClose();
    void queryClient.invalidateQueries({ queryKey: ['Keys'] });
  };
  const run = () => {
    if (isBusy || problemOf(draft) !== null) return;
    setBusy(true);
    setRefusal(null);
    make()
      .catch((error: Error) => setRefusal(error.message))
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title="Make an API key?"
      lead="One for each program, with no more rights than it needs. It is shown once."
      deed={{ label: isBusy ? 'Making…' : 'Make the key', run, isDisabled: isBusy || problemOf(draft) !== null }}
      onClose={onClose}
    >
      <div className="field">
        <label htmlFor={id}>Name</label>
        <input
          id={id}
          className="input"
          value={draft.name}
          maxLength={64}
          placeholder="shop backend"
          autoComplete="off"
          onChange={({ currentTarget }) => edit({ name: currentTarget.value })}
        />
      </div>
      <fieldset className="field">
        <legend>Permissions</legend>
        {SCOPES.map(({ name, label, hint }) => (
          <label key={name} className="choice">
            <input
              type="checkbox"
              checked={draft.scopes.includes(name)}
              onChange={({ currentTarget }) => setDraft(withScope(draft, name, currentTarget.checked))}
            />
            <span>
              {label}
              {hint !== '' && <small>{hint}</small>}
            </span>
          </label>
        ))}
      </fieldset>
      <div className="field">
        <label htmlFor={`${id}-queues`}>Only in these queues</label>
        <input
          id={`${id}-queues`}
          className="input"
          value={draft.queues}
          placeholder="all queues"
          autoComplete="off"
          spellcheck={false}
          onChange={({ currentTarget }) => edit({ queues: currentTarget.value })}
        />
        <small>Names, with spaces between them. Such a key uses REST only.</small>
        <small className="worry" role="status">
          {missing}
        </small>
      </div>
      <div className="field">
        <label htmlFor={`${id}-end`}>Expires</label>
        <select
          id={`${id}-end`}
          className="input"
          value={draft.end}
          onChange={({ currentTarget }) => edit({ end: currentTarget.value as End })}
        >
          {ENDS.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {problem !== null && (
        <p className="bad" role="alert">
          {problem}
        </p>
      )}
    </Dialog>
  );
}

/** Each name is a request, and a person may paste a hundred. */
const MOST_CHECKED = 20;

/** The names of a text that no queue has, as far as it is known. */
function useMissing(text: string): string[] {
  const names = [...new Set(namesIn(useSettled(text)))].slice(0, MOST_CHECKED);
  const asked = useQueries({ queries: names.map((name) => query(QueueOfName, { name })) });
  return names.filter((_, at) => asked[at]?.data?.queue === null);
}

export function KeyOnce({ made: { name, key }, onClose }: { made: MadeKey; onClose: () => void }) {
  const line = `JOBFERRY_API_KEY=${key}`;
  return (
    <ShownOnce
      title={<>{name === null ? 'The key' : `“${name}”`} is ready. Copy it now: it is shown only this once.</>}
      lost={{ what: name === null ? 'the key' : `the key “${name}”`, without: 'its programs need another one' }}
      onClose={onClose}
    >
      <ToCopy text={key} what="Key" />
      <ToCopy text={line} what="Line for .env" />
      <p className="small q">Only its hash is kept. If it is lost, make a new one and revoke this one.</p>
    </ShownOnce>
  );
}
