import type { Ref } from 'preact/compat';
import { bytes } from '../../../../query/words/format.ts';
import { Icon } from '../../../parts/icon.tsx';
import type { PayloadCheck } from '../model/payload-check.ts';

/** Beyond it, numbering the lines costs more than it helps. */
const MAX_NUMBERED = 2000;
const MIN_ROWS = 11;

/** A box for JSON with numbered lines, and what is wrong with the text while it is typed. */
export function PayloadEditor({
  field,
  text,
  check,
  refusal,
  onText,
  sources,
  source,
  onSource,
}: {
  field: Ref<HTMLTextAreaElement>;
  text: string;
  check: PayloadCheck;
  refusal: string | undefined;
  onText: (text: string) => void;
  sources: readonly { name: string; label: string }[];
  source: string;
  onSource: (name: string) => void;
}) {
  const lines = text.split('\n').length;
  const problem = refusal ?? (check.ok ? undefined : check.problem);
  return (
    <div className="field payload-field">
      <div className="payload-head">
        <label htmlFor="payload">Payload</label>
        {check.ok ? (
          <span className="tag ok">
            <Icon name="check" />
            JSON object, {bytes(check.bytes)}
          </span>
        ) : (
          <span className="tag bad">
            <Icon name="failing" />
            Not a JSON object
          </span>
        )}
        <span className="seg end">
          {sources.map(({ name, label }) => (
            <button key={name} type="button" aria-pressed={name === source} onClick={() => onSource(name)}>
              {label}
            </button>
          ))}
        </span>
      </div>
      <div className="editor">
        <ol aria-hidden="true">
          {lines <= MAX_NUMBERED && Array.from({ length: lines }, (_, line) => <li key={line}>{line + 1}</li>)}
        </ol>
        <textarea
          ref={field}
          id="payload"
          className="mono"
          wrap="off"
          rows={Math.max(MIN_ROWS, lines + 1)}
          value={text}
          spellcheck={false}
          autoCapitalize="off"
          autoComplete="off"
          aria-invalid={problem === undefined ? undefined : true}
          aria-describedby="payload-note"
          onChange={(event) => onText(event.currentTarget.value)}
        />
      </div>
      <small id="payload-note" className={problem === undefined ? undefined : 'bad'}>
        {problem ?? 'Sent byte for byte.'}
      </small>
    </div>
  );
}
