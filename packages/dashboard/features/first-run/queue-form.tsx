import { useQuery } from '@tanstack/preact-query';
import { type FormEvent, useRef, useState } from 'preact/compat';
import { useSearchParams } from 'wouter-preact';
import { changeQueue } from '../../api/change-queue.ts';
import { request } from '../../api/client.ts';
import { LOST } from '../../api/errors.ts';
import { type Outcome, outcomeOf } from '../../api/outcome.ts';
import { query } from '../../api/query.ts';
import { useServer } from '../../api/server.ts';
import { Note } from '../../parts/note.tsx';
import { useAddressWarning } from '../../parts/use-address-warning.ts';
import { LIMITS, newQueueInput, type Start, startOf, textOfTemplate, valueText } from './model/new-queue.ts';
import { CopiedQueue, CreateQueue, Templates } from './operations.ts';
import { Field } from './queue-field.tsx';
import { QueueStart } from './queue-start.tsx';

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
/** Fields that show their problem themselves. */
const FIELDS: readonly string[] = ['name', 'webhookUrl', 'copyOf', ...LIMITS.map(({ name }) => name)];

/**
 * The typed texts, by the queue that is copied. They outlive the page, so that leaving it loses nothing;
 * closing the tab forgets them.
 */
const drafts = new Map<string, Readonly<Record<string, string>>>();

/** Three answers define a queue; everything else has a value of the defaults, of a template or of another queue. */
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
  const copyOf = useSearchParams()[0].get('copy') ?? '';
  const draft = drafts.get(copyOf) ?? {};
  const [start, setStart] = useState((draft.start ?? (copyOf === '' ? 'defaults' : 'copy')) as Start);
  // Chosen by hand, it stays whatever the settings come from; without a choice it is that of the settings.
  const [mode, setMode] = useState(draft.mode ?? '');
  const [url, setUrl] = useState(draft.webhookUrl ?? (isFirst ? 'http://127.0.0.1:9000/' : ''));
  const isProduction = useServer()?.environment === 'production';

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    const answers = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([name, text]) => [name, String(text)]),
    );
    setBusy(true);
    const outcome = await changeQueue(() => made(start, answers));
    setBusy(false);
    if (outcome.ok) {
      drafts.delete(copyOf);
      const { queue, signingSecret } = outcome.value;
      onCreated({ ...queue, secret: signingSecret });
      return;
    }
    const { fieldErrors, message } = outcome;
    setProblems(fieldErrors.size > 0 ? fieldErrors : new Map([[WHOLE, message]]));
    // The first field that is wrong gets the focus; its problem is its description.
    const fields = [...(form.current?.querySelectorAll('input') ?? [])];
    const wrong = fields.find(({ name, type }) => type !== 'radio' && fieldErrors.has(name));
    const hidden = wrong?.closest('details');
    if (hidden) hidden.open = true;
    wrong?.focus();
  };
  const isCopy = start === 'copy';
  const result = useQuery({ ...query(Templates, {}), staleTime: Number.POSITIVE_INFINITY });
  const templates = result.data?.queueTemplates ?? [];
  const chosen = templates.find(({ name }) => startOf(name) === start);
  const own = start === 'defaults' ? null : isCopy ? 'as in the other queue' : 'as in the template';

  // A click on what is chosen already is a choice, too.
  const radioOf = (value: string, checked: boolean) =>
    ({ type: 'radio', name: 'mode', value, checked, onClick: () => setMode(value) }) as const;

  return (
    // The server checks; its words are better than the browser's.
    <form
      ref={form}
      onInput={({ target }) => {
        const { name, value } = target as HTMLInputElement;
        drafts.set(copyOf, { ...drafts.get(copyOf), [name]: value });
      }}
      onSubmit={(event) => void submit(event)}
      noValidate
    >
      <div className="two">
        <Field
          name="name"
          label="Name"
          value={draft.name ?? (isFirst ? 'hello' : '')}
          hint="Lowercase letters, digits, - and _. It cannot be changed later."
          problem={problems.get('name')}
        />
        <Field
          name="webhookUrl"
          label="Deliver to"
          value={url}
          placeholder={isCopy ? 'as the other queue' : undefined}
          hint={
            isProduction
              ? 'Your receiver’s address, with https.'
              : 'Your receiver’s address. To try it out, use an address on this server.'
          }
          problem={problems.get('webhookUrl')}
          warning={useAddressWarning(url)}
          onText={setUrl}
        />
      </div>
      {!isFirst && (
        <QueueStart
          start={start}
          templates={templates}
          copyOf={draft.copyOf ?? copyOf}
          problem={problems.get('copyOf')}
          onStart={setStart}
        />
      )}
      <fieldset>
        <legend>A 2xx answer means</legend>
        <div className="seg fill">
          {own !== null && (
            <label>
              <input {...radioOf('', mode === '')} />
              {own}
              {chosen !== undefined && ` (${chosen.mode === 'ACK' ? 'ack' : 'done'})`}
            </label>
          )}
          <label>
            <input {...radioOf('STANDARD', mode === 'STANDARD' || (mode === '' && own === null))} />
            the job is done
          </label>
          <label>
            <input {...radioOf('ACK', mode === 'ACK')} />
            received; a worker reports later (ack)
          </label>
        </div>
      </fieldset>
      <details open={LIMITS.some(({ name }) => name in draft)}>
        <summary className="small">Limits and attempts</summary>
        <div className="two">
          {LIMITS.map(({ name, label, hint }) => (
            <Field
              key={name}
              name={name}
              label={label}
              hint={hint}
              value={draft[name]}
              placeholder={chosen === undefined ? (own ?? '') : valueText(chosen[name])}
              problem={problems.get(name)}
            />
          ))}
        </div>
      </details>
      {[...problems].map(([name, problem]) =>
        FIELDS.includes(name) ? null : (
          <div key={name} role="alert">
            <Note signal="bad" icon="failing">
              {problem !== LOST && <b>The queue was not created.</b>} {problem}
            </Note>
          </div>
        ),
      )}
      <div className="toolbar">
        <button type="submit" className="btn primary" aria-disabled={isBusy}>
          Create queue
        </button>
        {isFirst && chosen !== undefined && (
          <span className="small q">{textOfTemplate(chosen)} You can change all of it later.</span>
        )}
      </div>
    </form>
  );
}

type Made = Outcome<{ queue: { id: string; name: string; webhookUrl: string }; signingSecret: string }>;

/** Creates the queue of the answers. A queue that is copied is looked for first. */
async function made(start: Start, answers: Readonly<Record<string, string>>): Promise<Made> {
  const name = (answers.copyOf ?? '').trim();
  const copied = start === 'copy' && name !== '' ? (await request(CopiedQueue, { name })).queue : null;
  const result = newQueueInput(start, answers, copied);
  if ('problems' in result) return { ok: false, message: '', fieldErrors: result.problems };
  return outcomeOf((await request(CreateQueue, { input: result.input })).createQueue);
}
