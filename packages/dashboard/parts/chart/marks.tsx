import type { CSSProperties } from 'preact/compat';
import { Link } from 'wouter-preact';
import { many, minute } from '../../../query/words/format.ts';
import { useView } from '../../base/time.ts';
import { type Area, foldedMarks, type Mark, type Span } from './geometry.ts';

export interface Marks {
  list: readonly Mark[];
  /** Where a mark leads to: the changes of a span, those of all if one of them is. */
  pathTo: (span: Span, isOfAll: boolean) => string;
  /** Another chart of the page has the marks for the keyboard and for screen readers. */
  isRepeated?: boolean;
}

/** Changes as ticks on the time axis. Those that would overlap are one. */
export function ChartMarks({
  marks: { list, pathTo, isRepeated = false },
  area,
  domain,
}: {
  marks: Marks;
  area: Area;
  domain: Span;
}) {
  const view = useView();
  const folded = foldedMarks(list, domain, area.width);
  if (folded.length === 0) return null;
  return (
    <ul
      className="marks"
      style={{ left: area.left, top: area.top, width: area.width, height: area.height }}
      aria-label={isRepeated ? undefined : 'Changes in this time'}
      aria-hidden={isRepeated}
    >
      {folded.map((marks) => {
        const [first] = marks;
        const last = marks.at(-1) ?? first;
        const share = (first.at - domain.from) / (domain.to - domain.from);
        const text =
          marks.length === 1
            ? `${minute(first.at, view)}: ${first.text}`
            : `${many(marks.length, 'change')}, ${minute(first.at, view)} to ${minute(last.at, view)}. The last one: ${last.text}`;
        const place = { '--at': `${share * 100}%`, '--side': share > 0.5 ? '-100%' : '0' } as CSSProperties;
        return (
          <li key={first.at} style={place}>
            <Link
              className={marks.length === 1 ? 'moment' : 'moment several'}
              href={pathTo(
                { from: first.at, to: last.at },
                marks.some(({ isOfAll }) => isOfAll),
              )}
              aria-label={text}
              tabIndex={isRepeated ? -1 : undefined}
            >
              <span aria-hidden="true">{text}</span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
