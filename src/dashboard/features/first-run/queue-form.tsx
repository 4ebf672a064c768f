import { type FormEvent, useId, useRef, useState } from 'react';
import { request } from '../../api/client.ts';
import type { RequestError } from '../../api/errors.ts';
import { type Outcome, outcomeOf } from '../../api/outcome.ts';
import { useServer } from '../../api/server.ts';
import { Note } from '../../parts/note.tsx';
import { upperFirst } from '../../words/format.ts';
import { CreateQueue } from './operations.ts';

export interface NewQueue {
  id: string;
  name: string;
  webhookUrl: string;
  /** Kept in memory until it is hidden or the page is left. */
  secret: string;
}

type Problems = ReadonlyMap<string, string>;
const NONE: Problems = new Map();
/** The key of what is no problem of one field. */
const WHOLE = '';

/** Three answers make a queue; everything else has a default that can be changed later. */
export function QueueForm({
  isFirst,
  onCreated,
}: {
  /** Then the answers are there already. */
  isFirst: boolean;
  onCreated: (queue: NewQueue) => void;
}) {
  const [problems, setProblems] = useState(NONE);
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isProduction = useServer()?.environment === 'production';

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    const data = new FormData(event.currentTarget);
    const field = (name: string) => String(data.get(name) ?? '').trim();
    const input = { name: field('name'), webhookUrl: field('webhookUrl') };
    setBusy(true);
    const outcome = await create({ ...input, mode: field('mode') === 'ACK' ? 'ACK' : 'STANDARD' });
    setBusy(false);
    if (outcome.ok) {
      const { queue, signingSecret } = outcome.value;
      onCreated({ ...queue, webhookUrl: input.webhookUrl, secret: signingSecret });
      return;
    }
    const { fieldErrors, message } = outcome;
    setProblems(fieldErrors.size > 0 ? fieldErrors : new Map([[WHOLE, message]]));
    // The first field that is wrong gets the focus; its problem is its description.
    const wrong = [...fieldErrors.keys()].find((name) => name in input);
    if (wrong !== undefined) form.current?.querySelector<HTMLInputElement>(`[name="${wrong}"]`)?.focus();
  };

  return (
    // The server checks; its words are better than the browser's.
    <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
      <div className="two">
        <Field
          name="name"
          label="Name"
          value={isFirst ? 'hello' : ''}
          hint="Small letters, digits, - and _. It cannot be changed."
          problem={problems.get('name')}
        />
        <Field
          name="webhookUrl"
          label="Deliver to"
          value={isFirst ? 'http://127.0.0.1:9000/' : ''}
          hint={
            isProduction
              ? 'Your receiver’s address, with https. Private ones need WEBHOOK_ALLOW_CIDRS on the server.'
              : 'Your receiver’s address. For a try, one on the server’s own computer.'
          }
          problem={problems.get('webhookUrl')}
        />
      </div>
      <fieldset>
        <legend>A 2xx answer means</legend>
        <div className="seg fill">
          <label>
            <input type="radio" name="mode" value="STANDARD" defaultChecked />
            the job is done
          </label>
          <label>
            <input type="radio" name="mode" value="ACK" />
            received; the worker reports later (ack)
          </label>
        </div>
      </fieldset>
      {[...problems].map(([name, problem]) =>
        name === 'name' || name === 'webhookUrl' ? null : (
          <div key={name} role="alert">
            <Note signal="bad" icon="failing">
              <b>The queue was not created.</b> {problem}
            </Note>
          </div>
        ),
      )}
      <div className="toolbar">
        <button type="submit" className="btn primary" aria-disabled={isBusy}>
          Create queue
        </button>
        <span className="small q">
          5 at once, 3 attempts, exponential backoff from 2 s. All of it can be changed later.
        </span>
      </div>
    </form>
  );
}

/** The server's problems of fields begin with a small letter, as a clause after the field's name. */
const sentence = (problem: string) => `${upperFirst(problem)}.`.replace('..', '.');

type Input = { name: string; webhookUrl: string; mode: 'ACK' | 'STANDARD' };

async function create(input: Input): Promise<Outcome<{ queue: { id: string; name: string }; signingSecret: string }>> {
  try {
    return outcomeOf((await request(CreateQueue, { input })).createQueue);
  } catch (error) {
    return { ok: false, message: (error as RequestError).message, fieldErrors: NONE };
  }
}

function Field({
  name,
  label,
  value,
  hint,
  problem,
}: {
  name: string;
  label: string;
  value: string;
  hint: string;
  problem: string | undefined;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        className="input"
        id={id}
        name={name}
        defaultValue={value}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
      />
      <small id={`${id}-hint`} className={problem === undefined ? undefined : 'bad'}>
        {problem === undefined ? hint : sentence(problem)}
      </small>
    </div>
  );
}
