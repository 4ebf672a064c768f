import { useQuery } from '@tanstack/preact-query';
import { type KeyboardEvent, useMemo, useRef, useState } from 'preact/compat';
import { useLocation, useSearchParams } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { NO_PAYLOADS } from '../../../../query/words/rights.ts';
import { changeQueue } from '../../../api/change-queue.ts';
import { request, urlOf } from '../../../api/client.ts';
import { trueText } from '../../../api/errors.ts';
import { outcomeOf } from '../../../api/outcome.ts';
import { query } from '../../../api/query.ts';
import { copy } from '../../../parts/copy.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { Note } from '../../../parts/note.tsx';
import { COMMAND_KEY } from '../../../parts/page/keys.ts';
import { curlOf } from '../model/curl.ts';
import { checkPayload } from '../model/payload-check.ts';
import { PayloadOf, Send, type SendQueue } from '../operations/send.ts';
import { draftOf, EMPTY, keepDraft, rememberSent } from './drafts.ts';
import { PayloadEditor } from './payload-editor.tsx';

type Source = 'mine' | 'from' | 'last' | 'empty';

interface Refusal {
  message: string;
  fields: ReadonlyMap<string, string>;
}

/** The job to publish. The bytes in the box are the bytes that are delivered. */
export function SendForm({
  chosen,
  queue,
  names,
  hasSent,
  onSent,
}: {
  /** The queue that is chosen; it is read while it is another one than `queue`. */
  chosen: string;
  queue: SendQueue;
  names: readonly string[];
  hasSent: boolean;
  onSent: (sent: { id: string; created: boolean }) => void;
}) {
  const { name } = queue;
  const [, navigate] = useLocation();
  const from = useSearchParams()[0].get('from');
  const payload = usePayload(queue, from);
  const [delay, setDelay] = useState('0');
  const [key, setKey] = useState('');
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [isSending, setSending] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const check = useMemo(() => checkPayload(payload.text), [payload.text]);
  const delayProblem =
    /^\d+(\.\d+)?$/.test(delay.trim()) && Number(delay) <= 86_400 ? undefined : 'A number from 0 to 86 400.';
  const input = { payloadText: payload.text, idempotencyKey: key === '' ? null : key, delay: Number(delay) };
  const canSend = chosen === name && check.ok && delayProblem === undefined && !isSending;

  const send = async () => {
    if (!check.ok) focusAt(box.current, check.at);
    if (!canSend) return;
    setSending(true);
    const outcome = await changeQueue(async () => outcomeOf((await request(Send, { queue: name, input })).publishJob));
    setSending(false);
    if (!outcome.ok) {
      setRefusal({ message: outcome.message, fields: outcome.fieldErrors });
      return;
    }
    setRefusal(null);
    const { job, created } = outcome.value;
    rememberSent({ id: job.id, queue: name });
    onSent({ id: job.id, created });
  };
  // The address keeps the job to copy: what is in the box stays there.
  const choose = (next: string) => {
    setRefusal(null);
    navigate(`${queuePath(next, '/send')}${from === null ? '' : `?from=${from}`}`, { replace: true });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLFormElement>) => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
    event.preventDefault();
    void send();
  };
  const url = urlOf(`v1/queues/${encodeURIComponent(name)}/jobs`);
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={onKeyDown}
    >
      <PayloadEditor
        field={box}
        text={payload.text}
        check={check}
        refusal={refusal?.fields.get('payloadText')}
        onText={payload.type}
        sources={payload.sources}
        source={payload.source}
        onSource={payload.choose}
      />
      {payload.isHidden && <p className="small q">{NO_PAYLOADS} So the payload of the copied job is not filled in.</p>}
      <div className="two">
        <div className="field">
          <label htmlFor="send-queue">Queue</label>
          <select
            className="input"
            id="send-queue"
            value={chosen}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {(names.includes(chosen) ? names : [chosen, ...names]).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </div>
        <Field
          id="send-delay"
          label="Delay, seconds"
          value={delay}
          problem={delayProblem ?? refusal?.fields.get('delay')}
          onChange={setDelay}
        />
        <Field
          id="send-key"
          label="Idempotency key"
          value={key}
          placeholder="none"
          problem={refusal?.fields.get('idempotencyKey')}
          onChange={setKey}
        />
      </div>
      {refusal !== null && (
        <Note signal="bad" icon="failed">
          <span role="alert">{trueText(`Not sent: ${refusal.message}`)}</span>
        </Note>
      )}
      <div className="toolbar">
        <button type="submit" className="btn primary" aria-disabled={!canSend}>
          <Icon name="send" />
          {hasSent ? 'Send again' : 'Send'}
          <kbd>{COMMAND_KEY}↵</kbd>
        </button>
        <button type="button" className="btn" onClick={() => void copy(curlOf(url, input), 'curl command')}>
          <Icon name="copy" />
          Copy as curl
        </button>
        <span className="small q">A real job: it counts as one attempt of the plan.</span>
      </div>
    </form>
  );
}

function focusAt(box: HTMLTextAreaElement | null, at: number | null): void {
  box?.focus();
  if (at !== null) box?.setSelectionRange(at, at + 1);
}

/** The text of the box, and the texts that it can be filled with. Each is one press away, and none is lost. */
function usePayload(queue: SendQueue, from: string | null) {
  const { data } = useQuery({ ...query(PayloadOf, { id: from ?? '' }), enabled: from !== null });
  // For the queue at which it was typed, and for others that have no text of their own.
  const [typed, setTyped] = useState({ text: EMPTY });
  const [chosen, setChosen] = useState<Source | null>(null);
  const last = queue.jobs.nodes[0];
  const mine = draftOf(queue.name) ?? typed.text;
  const texts: Partial<Record<Source, string>> = {
    mine,
    ...(data?.job?.payloadText != null && { from: data.job.payloadText }),
    ...(last?.payloadText != null && { last: last.payloadText }),
    empty: EMPTY,
  };
  // A job to edit comes first, until something else is chosen or typed.
  const first = texts.from === undefined ? 'mine' : 'from';
  // Another queue may have no last job.
  const source: Source = chosen !== null && texts[chosen] !== undefined ? chosen : first;
  const labels: Record<Source, string> = {
    mine: 'Mine',
    last: 'Last job',
    empty: 'Empty',
    from: `Job ${from === null ? '' : shortId(from)}`,
  };
  return {
    text: texts[source] ?? EMPTY,
    source,
    /** The job to copy is there, and its payload is not for this person. */
    isHidden: data?.job != null && data.job.payloadText === null,
    sources: (Object.keys(labels) as Source[])
      .filter((one) => texts[one] !== undefined)
      .map((one) => ({ name: one, label: labels[one] })),
    choose: (next: string) => setChosen(next as Source),
    type: (text: string) => {
      setTyped({ text });
      setChosen('mine');
      keepDraft(queue.name, text);
    },
  };
}

function Field({
  id,
  label,
  value,
  placeholder,
  problem,
  onChange,
}: {
  id: string;
  label: string;
  value: string;
  placeholder?: string;
  problem: string | undefined;
  onChange: (value: string) => void;
}) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        className="input"
        id={id}
        value={value}
        placeholder={placeholder}
        autoComplete="off"
        spellcheck={false}
        aria-invalid={problem === undefined ? undefined : true}
        aria-describedby={problem === undefined ? undefined : `${id}-note`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {problem !== undefined && (
        <small className="bad" id={`${id}-note`}>
          {problem}
        </small>
      )}
    </div>
  );
}
