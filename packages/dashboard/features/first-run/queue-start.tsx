import { useState } from 'preact/compat';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { QueueOffers } from '../../parts/queue-offers.tsx';
import { type Start, startOf, type Template, textOfTemplate } from './model/new-queue.ts';
import { Field } from './queue-field.tsx';

/** Where the settings of a new queue come from: the defaults, a template or another queue. */
export function QueueStart({
  start,
  copyOf,
  templates,
  problem,
  onStart,
}: {
  start: Start;
  /** The queue that a link names, or that was typed before. */
  copyOf: string;
  /** The first are the defaults. */
  templates: readonly Template[];
  problem: string | undefined;
  onStart: (start: Start) => void;
}) {
  const id = useUniqueId();
  const chosen = templates.find(({ name }) => startOf(name) === start);
  return (
    <div className="two">
      <div className="field">
        <label htmlFor={id}>Settings from</label>
        <select
          className="input"
          id={id}
          name="start"
          value={start}
          onChange={(event) => onStart(event.currentTarget.value as Start)}
        >
          <option value="defaults">the defaults</option>
          {templates.map(
            ({ name }) =>
              name !== null && (
                <option key={name} value={startOf(name)}>
                  the template {name}
                </option>
              ),
          )}
          <option value="copy">another queue</option>
        </select>
        <small>{chosen !== undefined && textOfTemplate(chosen)} You can change all of them later.</small>
      </div>
      {start === 'copy' && <CopiedQueue copyOf={copyOf} problem={problem} />}
    </div>
  );
}

function CopiedQueue({ copyOf, problem }: { copyOf: string; problem: string | undefined }) {
  const [text, setText] = useState(copyOf);
  const id = useUniqueId();
  return (
    <>
      <Field
        name="copyOf"
        label="Queue to copy"
        value={copyOf}
        hint="Copies all settings, but not the name, the secret and the jobs."
        problem={problem}
        list={id}
        onText={setText}
      />
      <QueueOffers id={id} text={text} />
    </>
  );
}
