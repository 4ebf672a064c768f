import { useQuery } from '@tanstack/preact-query';
import { useId, useState } from 'preact/compat';
import { query } from '../../api/query.ts';
import { QueueOffers } from '../../parts/queue-offers.tsx';
import type { Start } from './model/new-queue.ts';
import { Templates } from './operations.ts';
import { Field } from './queue-field.tsx';

/** Where the settings of a new queue come from: the defaults, a template or another queue. */
export function QueueStart({
  start,
  copyOf,
  problem,
  onStart,
}: {
  start: Start;
  /** The queue that a link names. */
  copyOf: string;
  problem: string | undefined;
  onStart: (start: Start) => void;
}) {
  const id = useId();
  const templates = useQuery({ ...query(Templates, {}), staleTime: Number.POSITIVE_INFINITY }).data?.server.templates;
  return (
    <div className="two">
      <div className="field">
        <label htmlFor={id}>Settings from</label>
        <select
          className="input"
          id={id}
          value={start}
          onChange={(event) => onStart(event.currentTarget.value as Start)}
        >
          <option value="defaults">the defaults</option>
          {templates?.map((name) => (
            <option key={name} value={`template:${name}`}>
              the template {name}
            </option>
          ))}
          <option value="copy">another queue</option>
        </select>
        <small>All of them can be changed later.</small>
      </div>
      {start === 'copy' && <CopiedQueue copyOf={copyOf} problem={problem} />}
    </div>
  );
}

function CopiedQueue({ copyOf, problem }: { copyOf: string; problem: string | undefined }) {
  const [text, setText] = useState(copyOf);
  const id = useId();
  return (
    <>
      <Field
        name="copyOf"
        label="Queue to copy"
        value={copyOf}
        hint="All of its settings, but not its name, its secret and its jobs."
        problem={problem}
        list={id}
        onText={setText}
      />
      <QueueOffers id={id} text={text} />
    </>
  );
}
