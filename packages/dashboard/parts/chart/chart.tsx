import './chart.css';
import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from 'preact/compat';
import { many, minute, NONE } from '../../../query/words/format.ts';
import { serverNow } from '../../base/clock.ts';
import { preferences } from '../../base/preferences.ts';
import { useStore } from '../../base/store.ts';
import { useView } from '../../base/time.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { Icon } from '../icon.tsx';
import { Table } from '../table.tsx';
import { Brush } from './chart-brush.tsx';
import type { Span } from './geometry.ts';
import { ChartMarks, type Marks } from './marks.tsx';
import { layoutOf, Plot, type PlotProps, type Series, type Size } from './plot.tsx';

interface ChartProps extends PlotProps {
  title: string;
  /** The chart as one sentence, for those who do not see it. */
  sentence: string;
  /** With it, a span of time can be chosen. */
  brush?: { span: Span | null; onChange: (span: Span | null) => void };
  /** Changes in the time of the chart. */
  marks?: Marks | undefined;
  /** The end of the head, such as the choice of the range. */
  end?: ReactNode;
  heightRem?: number;
  /** Said in place of lines when no bucket has a value. */
  empty?: string;
}

/** A figure: title, legend with present values (those of a bucket under the pointer), and the lines or a table. */
export function Chart(props: ChartProps) {
  const { title, sentence, times, bucketMs, series, format, end, heightRem = 11 } = props;
  const id = useUniqueId();
  const [isTable, setTable] = useState(false);
  const [hovered, setHovered] = useState<number | null>(null);
  const hasValues = series.some(({ values }) => values.some((value) => value !== null));
  const index = hovered === null || hovered >= times.length ? null : hovered;
  const zone = useStore(preferences, (all) => all.zone);
  // All values of the legend are of one bucket, whose start it says: of one there may be none.
  const said = index ?? times.findLastIndex((_, n) => series.some(({ values }) => values[n] != null));
  const from = times[said];
  const last = times.at(-1);
  // The bucket under way is left out at first, so the newest attempts may not be there yet.
  const until = last === undefined ? 0 : Math.min(last + bucketMs, serverNow());
  const asOf = until > 0 && ` Data until ${minute(until, { now: until, zone })}.`;
  return (
    <figure className="chart" aria-labelledby={id}>
      <div className="sec-head">
        <h2 id={id}>{title}</h2>
        <span className="legend">
          {from !== undefined && <span className="q3">from {minute(from, { now: from, zone })}</span>}
          {series.map((one) => (
            <LegendItem key={one.label} series={one} index={said} format={format} />
          ))}
        </span>
        <span className="end">
          {end}
          <button
            type="button"
            className="btn quiet icon tiny"
            aria-label={`${title}: show as a table`}
            title="Show as a table"
            aria-pressed={isTable}
            onClick={() => setTable(!isTable)}
          >
            <Icon name="list" />
          </button>
        </span>
      </div>
      <figcaption className="sr">
        {sentence}
        {asOf}
        {props.marks !== undefined &&
          props.marks.list.length > 0 &&
          ` ${many(props.marks.list.length, 'change')} in this time.`}
      </figcaption>
      {isTable ? (
        <ChartTable {...props} />
      ) : (
        <div className="plot-frame" style={{ '--height': `${heightRem}rem` } as CSSProperties}>
          {hasValues || props.empty === undefined ? (
            <PlotArea {...props} hovered={index} onHover={setHovered} />
          ) : (
            <p className="nothing">
              {props.empty}
              {asOf}
            </p>
          )}
        </div>
      )}
    </figure>
  );
}

function LegendItem({
  series: { label, colour, isDashed, isGhost, values },
  index,
  format,
}: {
  series: Series;
  index: number;
  format: ChartProps['format'];
}) {
  return (
    <span>
      <i
        className={`dot ${isDashed === true ? 'dash' : 'line'}${isGhost === true ? ' ghost' : ''}`}
        style={{ '--m': `var(${colour})` } as CSSProperties}
        aria-hidden="true"
      />
      {label} <b>{shown(values[index], format)}</b>
    </span>
  );
}

function PlotArea(props: ChartProps & { hovered: number | null; onHover: (index: number | null) => void }) {
  const { times, bucketMs, brush, marks, hovered, onHover } = props;
  const zone = useStore(preferences, (all) => all.zone);
  const place = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      setSize({ width: element.clientWidth, height: element.clientHeight });
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const layout = size === null ? null : layoutOf(size, props);
  const domain = { from: times[0] ?? 0, to: (times.at(-1) ?? 0) + bucketMs };
  return (
    <>
      <div ref={place} className="plot">
        {size !== null && layout !== null && <Plot {...props} {...layout} size={size} zone={zone} />}
      </div>
      {layout !== null && (
        <Brush area={layout.area} domain={domain} bucketMs={bucketMs} hovered={hovered} onHover={onHover} {...brush} />
      )}
      {layout !== null && marks !== undefined && <ChartMarks marks={marks} area={layout.area} domain={domain} />}
    </>
  );
}

function ChartTable({ title, times, bucketMs, series, format, marks }: ChartProps) {
  const view = useView();
  const changes = marks?.list ?? [];
  return (
    <section className="chart-table" tabIndex={0} aria-label={`${title}, as a table`}>
      <Table
        columns={[
          'From',
          ...series.map(({ label }) => [label, 'n'] as const),
          ...(changes.length > 0 ? ['Changes'] : []),
        ]}
      >
        {times
          .map((from, index) => (
            <tr key={from}>
              <td>
                <time dateTime={new Date(from).toISOString()}>{minute(from, view)}</time>
              </td>
              {series.map(({ label, values }) => (
                <td key={label} className="n">
                  {shown(values[index], format)}
                </td>
              ))}
              {changes.length > 0 && (
                <td>
                  {changes
                    .filter(({ at }) => at >= from && at < from + bucketMs)
                    .map(({ text }) => text)
                    .join('; ')}
                </td>
              )}
            </tr>
          ))
          .reverse()}
      </Table>
    </section>
  );
}

function shown(value: number | null | undefined, format: ChartProps['format']): string {
  return value == null ? NONE : format(value);
}
