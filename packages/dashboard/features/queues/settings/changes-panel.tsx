import { trueText } from '../../../api/errors.ts';
import { Icon } from '../../../parts/icon.tsx';
import { Note } from '../../../parts/note.tsx';
import { COMMAND_KEY } from '../../../parts/page/keys.ts';
import type { Review } from '../model/queue-settings.ts';
import { WHEN } from '../model/queue-settings.ts';

/** The difference between what is and what will be, beside the form, with the button that saves it. */
export function ChangesPanel({
  form,
  review: { changes, problems },
  refusal,
  isSaving,
  onReset,
}: {
  form: string;
  review: Review;
  refusal: string | null;
  isSaving: boolean;
  onReset: () => void;
}) {
  const canSave = changes.length > 0 && problems.size === 0 && !isSaving;
  const hasEdits = changes.length + problems.size > 0;
  return (
    <section className="panel changes" aria-labelledby="changes">
      <header>
        <h2 id="changes">Changes</h2>
        {hasEdits && (
          <span className="end">
            <button type="button" className="btn quiet tiny" onClick={onReset}>
              <Icon name="undo" />
              Undo all
            </button>
          </span>
        )}
      </header>
      <div className="in">
        {changes.length === 0 ? (
          <p className="q">None yet.</p>
        ) : (
          <ul>
            {changes.map(({ name, label, from, to, when }) => (
              <li key={name}>
                <b>{label}</b>
                <span className="becomes">
                  <del>{from}</del> <Icon name="moving" /> <span className="sr">becomes</span> <ins>{to}</ins>
                </span>
                <small className="q">{WHEN[when]}</small>
              </li>
            ))}
          </ul>
        )}
        {refusal !== null && (
          <Note signal="bad" icon="failed">
            <span role="alert">{trueText(`Not saved: ${refusal}`)}</span>
          </Note>
        )}
        <div className="toolbar">
          <button type="submit" form={form} className="btn primary" aria-disabled={!canSave}>
            {changes.length > 1 ? `Save ${changes.length} changes` : 'Save'}
            <kbd>{COMMAND_KEY}↵</kbd>
          </button>
        </div>
      </div>
    </section>
  );
}
