import { useState } from 'preact/compat';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { serverNow } from '../../base/clock.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { QueueOffers } from '../../parts/queue-offers.tsx';
import { ShownOnce, ToCopy } from '../../parts/shown-once.tsx';
import {
  ENDS,
  type End,
  inputOf,
  type KeyDraft,
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
  const id = useUniqueId();
  const [draft, setDraft] = useState(NEW_KEY);
  const edit = (change: Partial<KeyDraft>) => setDraft({ ...draft, ...change });
  const problem = problemOf(draft);
  // The last name is being typed.
  const [typed = ''] = /[^\s,]*$/.exec(draft.queues) ?? [];
  const before = draft.queues.slice(0, draft.queues.length - typed.length);
  const create = async () => {
    const outcome = outcomeOf((await request(NewKey, inputOf(draft, serverNow()))).createApiKey);
    if (!outcome.ok) return `Not created: ${[...outcome.fieldErrors.values()][0] ?? outcome.message}`;
    const { key, apiKey } = outcome.value;
    onMade({ ...apiKey, key });
    onClose();
    void queryClient.invalidateQueries({ queryKey: ['Keys'] });
    return null;
  };
  return (
    <Dialog
      title="New API key"
      lead="Create one for each program, with no more rights than it needs. It is shown once."
      action={{ label: 'Create key', run: create, isDisabled: problem !== null }}
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
          list={`${id}-offers`}
          autoComplete="off"
          spellcheck={false}
          onChange={({ currentTarget }) => edit({ queues: currentTarget.value })}
        />
        <small>Names, with spaces between them. Such a key uses REST only.</small>
        <QueueOffers id={`${id}-offers`} text={typed} before={before} />
        {[...new Set(namesIn(before))].slice(-MOST_CHECKED).map((name) => (
          <QueueOffers key={name} id={`${id}-${name}`} text={name} />
        ))}
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
      <p className="small q">Only its hash is stored. If you lose the key, create another one and revoke this one.</p>
    </ShownOnce>
  );
}
