import './compare.css';
import { useState } from 'preact/compat';
import { many, number, visible } from '../../../../query/words/format.ts';
import { type DiffLine, foldEqual, type Shown } from '../../../words/diff.ts';
import type { Comparison } from '../model/compare.ts';

/** More would make the page slow. */
const MAX_SHOWN = 2000;

/** Lines that only the first text has, that only the second one has, and some around them. */
export function DiffView({ diff, names }: { diff: Comparison; names: readonly [from: string, to: string] }) {
  const [isWhole, setWhole] = useState(false);
  const lines: readonly Shown[] = isWhole ? diff.lines : foldEqual(diff.lines);
  const shown = lines.slice(0, MAX_SHOWN);
  const hasFolds = lines.some((line) => 'folded' in line);
  return (
    <section className="panel difference" aria-labelledby="difference">
      <header>
        <h2 id="difference">Difference</h2>
        <span className="small q">
          <del>− {names[0]}</del> <ins>+ {names[1]}</ins>
        </span>
        <span className="end">
          {(hasFolds || isWhole) && (
            <button type="button" className="btn quiet tiny" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
              All lines
            </button>
          )}
        </span>
      </header>
      <pre tabIndex={0} role="region" aria-label="Difference">
        {shown.map((line) =>
          'folded' in line ? (
            <span key={`folded ${line.from}`} className="folded">
              {many(line.folded, 'equal line')}
            </span>
          ) : (
            <Line key={`${line.from} ${line.to}`} line={line} />
          ),
        )}
      </pre>
      {(lines.length > shown.length || !diff.isMatched) && (
        <p className="foot-note">
          {lines.length > shown.length && `${number(lines.length - shown.length)} more lines are not shown. `}
          {!diff.isMatched && 'The texts are too long and too different to match their lines.'}
        </p>
      )}
    </section>
  );
}

function Line({ line: { change, text, part } }: { line: DiffLine }) {
  const content =
    part === undefined ? (
      visible(text)
    ) : (
      <>
        {visible(text.slice(0, part[0]))}
        <mark>{visible(text.slice(...part))}</mark>
        {visible(text.slice(part[1]))}
      </>
    );
  if (change === 'same') return <span>{content}</span>;
  return change === 'removed' ? <del>{content}</del> : <ins>{content}</ins>;
}
