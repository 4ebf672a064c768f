import './json.css';
import { type CSSProperties, type ReactNode, useMemo, useState } from 'preact/compat';
import { bytes, visible } from '../../../query/words/format.ts';
import { NO_PAYLOADS } from '../../../query/words/rights.ts';
import { type Lexed, lexJson, rangeOfPath, type ValueRange } from '../../words/json/lex.ts';
import { exactLines, type Line, tidyLines } from '../../words/json/lines.ts';
import { noteTexts } from '../../words/json/notes.ts';
import { CopyButton } from '../copy.tsx';

/** Above it there is no colour, and only the lines on screen are rendered. */
const LARGE = 256 * 1024;

/** The panel of a payload; `text` is null for people who may not see payloads. */
export function PayloadPanel({
  text,
  paths,
  more,
}: {
  text: string | null;
  paths: readonly string[];
  more: ReactNode;
}) {
  if (text !== null) return <VisiblePayload text={text} paths={paths} more={more} />;
  return (
    <section className="panel" aria-labelledby="payload">
      <header>
        <h2 id="payload">Payload</h2>
      </header>
      <p className="in small q">{NO_PAYLOADS}</p>
    </section>
  );
}

/** The payload in a panel: exact or tidy, with its size, notes, and a button that copies the exact bytes. */
function VisiblePayload({ text, paths, more }: { text: string; paths: readonly string[]; more: ReactNode }) {
  const [isTidy, setTidy] = useState(false);
  const size = useMemo(() => new TextEncoder().encode(text).length, [text]);
  const isLarge = size > LARGE;
  const lexed = useMemo(() => (isLarge ? null : lexJson(text)), [text, isLarge]);
  return (
    <section className="panel" aria-labelledby="payload">
      <header>
        <h2 id="payload">Payload</h2>
        <span className="small q">{bytes(size)}, byte for byte</span>
        <span className="end">
          {more}
          {!isLarge && (
            <span className="seg" role="group" aria-label="How to show it">
              <button type="button" aria-pressed={!isTidy} onClick={() => setTidy(false)}>
                Exact
              </button>
              <button type="button" aria-pressed={isTidy} onClick={() => setTidy(true)}>
                Tidy
              </button>
            </span>
          )}
          <CopyButton text={text} what="Exact payload" />
        </span>
      </header>
      {lexed === null ? (
        <LargeText text={text} />
      ) : (
        <JsonText text={text} lexed={lexed} isTidy={isTidy} paths={paths} />
      )}
      {lexed !== null && <Notes text={text} lexed={lexed} />}
    </section>
  );
}

/** The text in colours. The lines with the paths of an active filter are marked. */
export function JsonText({
  text,
  lexed,
  isTidy = false,
  paths,
}: {
  text: string;
  lexed: Lexed;
  isTidy?: boolean;
  paths: readonly string[];
}) {
  const lines = useMemo(() => (isTidy ? tidyLines(text, lexed) : exactLines(text, lexed)), [text, lexed, isTidy]);
  const marked = paths.flatMap((path) => rangeOfPath(lexed, path) ?? []);
  return (
    <pre className="json" tabIndex={0} role="region" aria-label={`Payload, ${isTidy ? 'tidy' : 'exact source text'}`}>
      {lines.map((line) => (
        <code key={line.start} className={marked.some((range) => isStartIn(range, line)) ? 'hit' : undefined}>
          {line.pieces.map(({ kind, text: piece }, index) =>
            kind === null || kind === 'mark' ? (
              visible(piece)
            ) : (
              <Coloured key={keyOf(line, index)} kind={kind} text={piece} />
            ),
          )}
        </code>
      ))}
    </pre>
  );
}

const keyOf = ({ start }: Line, index: number) => `${start} ${index}`;
const isStartIn = ({ start }: ValueRange, line: Line) => start >= line.start && start < line.end;

function Coloured({ kind, text }: { kind: string; text: string }) {
  return <span className={kind}>{visible(text)}</span>;
}

function Notes({ text, lexed }: { text: string; lexed: Lexed }) {
  const { shown, more } = useMemo(() => noteTexts(text, lexed), [text, lexed]);
  if (shown.length === 0) return null;
  return (
    <div className="foot-note">
      {shown.map(({ line, source, text: note }) => (
        <p key={`${line} ${source}`}>
          Line {line}: <code>{visible(source)}</code> {note}
        </p>
      ))}
      {more > 0 && <p>And {more} more of this kind.</p>}
    </div>
  );
}

const ROW_PX = 20;
const ROW_CHARACTERS = 160;
const ROWS_AROUND = 40;

/** A text of many lines, or of one line of a megabyte: rows of 160 characters, of which only those on screen exist. */
function LargeText({ text }: { text: string }) {
  const rows = useMemo(() => rowsOf(text), [text]);
  const [first, setFirst] = useState(0);
  const onScroll = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    const next = Math.max(0, Math.floor(currentTarget.scrollTop / ROW_PX) - ROWS_AROUND);
    // In steps, so that most scroll events render nothing.
    if (Math.abs(next - first) > ROWS_AROUND / 2 || next === 0) setFirst(next);
  };
  const shown = rows.slice(first, first + 3 * ROWS_AROUND);
  const style = { '--first': first } as CSSProperties;
  return (
    <pre
      className="json large"
      tabIndex={0}
      role="region"
      aria-label="Payload, exact source text"
      onScroll={onScroll}
      style={style}
    >
      <span className="room" style={{ blockSize: first * ROW_PX }} />
      {shown.map((row) => (
        <code key={row.at}>{visible(row.text)}</code>
      ))}
      <span className="room" style={{ blockSize: Math.max(0, rows.length - first - shown.length) * ROW_PX }} />
    </pre>
  );
}

function rowsOf(text: string): { at: number; text: string }[] {
  const rows: { at: number; text: string }[] = [];
  let start = 0;
  for (const line of text.split('\n')) {
    for (let at = 0, end = 0; at === 0 || at < line.length; at = end) {
      end = Math.max(at + 1, endOfRow(line, at + ROW_CHARACTERS));
      rows.push({ at: start + at, text: line.slice(at, end) });
    }
    start += line.length + 1;
  }
  return rows;
}

/** Two units that are one character stay in one row. */
function endOfRow(line: string, end: number): number {
  return /[\uD800-\uDBFF]/.test(line.charAt(end - 1)) ? end + 1 : end;
}
