import { useEffect, useRef, useState } from 'preact/compat';
import type { Format } from '../../../query/export/format.ts';
import { type End, exported, type ListToExport, MAX_ROWS, type Ports } from '../../../query/export/run.ts';
import { SOURCES } from '../../../query/export/sources.ts';
import { asSentence, many, number } from '../../../query/words/format.ts';
import { NO_PAYLOADS } from '../../../query/words/rights.ts';
import { request } from '../../api/client.ts';
import { RequestError, retryDelayMs } from '../../api/errors.ts';
import { useRights } from '../../api/rights.ts';
import { serverNow } from '../../base/clock.ts';
import { Dialog } from '../dialog.tsx';
import { Note } from '../note.tsx';
import { ProgressBar } from '../progress.tsx';
import { toast } from '../toast.tsx';

const FORMATS: readonly (readonly [format: Format, label: string, hint: string])[] = [
  ['csv', 'CSV', 'For spreadsheets. Text that a spreadsheet would run as a formula gets a leading apostrophe.'],
  ['ndjson', 'NDJSON', 'For programs: a JSON object on each line, with all digits of payloads.'],
];

interface Reading {
  rows: number;
  total: number | null;
}

/** Reads the list page by page. The text of each is put away at once, so that few rows are in memory. */
export default function ExportDialog({ list, onClose }: { list: NonNullable<ListToExport>; onClose: () => void }) {
  const [format, setFormat] = useState<Format>('csv');
  const [payloads, setPayloads] = useState(false);
  const [reading, setReading] = useState<Reading | null>(null);
  const [isWaiting, setWaiting] = useState(false);
  const [end, setEnd] = useState<End | null>(null);
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const { of } = list();
  const hint = FORMATS.find(([one]) => one === format)?.[2];

  const run = async (): Promise<null> => {
    setEnd(null);
    setReading({ rows: 0, total: null });
    try {
      const { signal } = stop.current;
      const pieces = exported({ ...list(), format, payloads }, portsOf(signal, setWaiting));
      const parts: Blob[] = [];
      for (;;) {
        const next = await pieces.next();
        if (signal.aborted) return null;
        if (next.done === true) {
          save(
            new Blob(parts),
            `jobferry-${of}-${new Date(serverNow()).toISOString().replaceAll(/[:.]/g, '-')}.${format}`,
          );
          if (next.value.why !== null) setEnd(next.value);
          else {
            toast({ text: `${many(next.value.rows, 'row')} in the file.`, icon: 'download' });
            onClose();
          }
          return null;
        }
        parts.push(new Blob([next.value.text]));
        setReading(next.value);
      }
    } finally {
      setReading(null);
    }
  };
  return (
    <Dialog
      title="Export this list"
      lead={`All rows that match, not only this page; ${number(MAX_ROWS)} at most.`}
      action={{ label: reading === null ? 'Save the file' : 'Reading…', run, ...(end !== null && { keep: 'Close' }) }}
      onClose={onClose}
    >
      <fieldset className="field" disabled={reading !== null}>
        <legend className="sr">Format</legend>
        <div className="seg fill">
          {FORMATS.map(([one, label]) => (
            <label key={one}>
              <input type="radio" name="format" checked={format === one} onChange={() => setFormat(one)} />
              {label}
            </label>
          ))}
        </div>
        <small>{hint}</small>
      </fieldset>
      {SOURCES[of].payload !== undefined && (
        <PayloadChoice isOn={payloads} isDisabled={reading !== null} onChange={setPayloads} />
      )}
      {reading !== null && <ReadingNow reading={reading} isWaiting={isWaiting} />}
      {end !== null && <Incomplete end={end} />}
    </Dialog>
  );
}

function PayloadChoice(props: { isOn: boolean; isDisabled: boolean; onChange: (isOn: boolean) => void }) {
  const mayView = useRights()?.mayViewPayloads === true;
  return (
    <label className="choice">
      <input
        type="checkbox"
        checked={props.isOn && mayView}
        disabled={props.isDisabled || !mayView}
        onChange={({ currentTarget }) => props.onChange(currentTarget.checked)}
      />
      <span>
        <b className="strong">Payloads</b>
        <small>{mayView ? 'Byte for byte as published. The file may become large.' : NO_PAYLOADS}</small>
      </span>
    </label>
  );
}

function ReadingNow({ reading: { rows, total }, isWaiting }: { reading: Reading; isWaiting: boolean }) {
  const whole = total === null ? null : Math.min(total, MAX_ROWS);
  return (
    <div className="field">
      {whole !== null && (
        <ProgressBar parts={[{ value: rows, signal: 'run' }]} whole={whole} label="Rows in the file" />
      )}
      <small>
        {number(rows)} {whole === null ? 'rows' : `of ${number(whole)} rows`}
        {isWaiting && '. Waiting for the server…'}
      </small>
    </div>
  );
}

function Incomplete({ end: { rows, why } }: { end: End }) {
  return (
    <Note signal="warn" icon="failing">
      <span role="alert">
        <b>The file is incomplete.</b> It ends after {many(rows, 'row')}. {asSentence(why ?? '')} Its last line says so,
        too.
      </span>
    </Note>
  );
}

function portsOf(signal: AbortSignal, onWaiting: (isWaiting: boolean) => void): Ports {
  return {
    ask: (operation, variables) => request(operation, variables, signal),
    afterFailure: (error, failures) => {
      if (!(error instanceof RequestError) || error.kind === 'signed-out') return 'end';
      return error.passes ? retryDelayMs(failures, error) : 'smaller';
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          onWaiting(false);
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener('abort', end);
        onWaiting(true);
      }),
  };
}

/** The address of a file that was saved is needed for a moment longer. */
const KEPT_MS = 60_000;

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
