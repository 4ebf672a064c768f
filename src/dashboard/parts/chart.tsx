import './chart.css';
import { type CSSProperties, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import type { Span, Unit } from '../model/chart.ts';
import { minute, NONE } from '../model/format.ts';
import { preferences } from '../preferences.ts';
import { useStore } from '../store.ts';
import { useView } from '../time.ts';
import { Brush } from './chart-brush.tsx';
import type { Area, Plot, PlotData } from './chart-plot.ts';
import { Icon } from './icon.tsx';

export interface Series {
  label: string;
  /** A token, such as `--bad-mark`. */
  colour: string;
  /** Lines differ in dash too, for those who see no difference in colour. */
  isDashed?: boolean;
  /** In pixels. */
  width?: number;
  /** Nothing is drawn where it stays at zero, so that trouble stands out where there is some. */
  hidesZero?: boolean;
  values: readonly (number | null)[];
}

/** The area between two lines is filled where the upper one is above the lower one. */
export interface Band {
  /** Indexes of series. */
  upper: number;
  lower: number;
  colour: string;
}

export interface ChartProps {
  title: string;
  /** The chart as one sentence, for those who do not see it. */
  sentence: string;
  /** Starts of the buckets, in milliseconds. */
  times: readonly number[];
  bucketMs: number;
  series: readonly Series[];
  unit: Unit;
  /** A value as text, for the axis, the legend and the table. */
  format: (value: number) => string;
  bands?: readonly Band[];
  /** With it, a span of time can be chosen. */
  brush?: { span: Span | null; onChange: (span: Span | null) => void };
  /** What stands at the end of the head, such as the choice of the range. */
  end?: ReactNode;
  heightRem?: number;
  /** Said in place of lines when no bucket has a value. */
  empty?: string;
}

const NO_BANDS: readonly Band[] = [];

/** A figure: title, legend with present values (those of a bucket under the pointer), and the lines or a table. */
export function Chart(props: ChartProps) {
  const { title, sentence, times, series, format, end, heightRem = 11 } = props;
  const id = useId();
  const [isTable, setTable] = useState(false);
  const [hovered, setHovered] = useState<number | null>(null);
  const hasValues = series.some(({ values }) => values.some((value) => value !== null));
  const index = hovered === null || hovered >= times.length ? null : hovered;
  return (
    <figure className="chart" aria-labelledby={id}>
      <div className="sec-head">
        <h2 id={id}>{title}</h2>
        <span className="legend">
          {series.map((one) => (
            <LegendItem key={one.label} series={one} index={index} format={format} />
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
      <figcaption className="sr">{sentence}</figcaption>
      {isTable ? (
        <ChartTable {...props} />
      ) : (
        <div className="plot-frame" style={{ '--height': `${heightRem}rem` } as CSSProperties}>
          {hasValues || props.empty === undefined ? (
            <PlotArea {...props} hovered={index} onHover={setHovered} onFailed={() => setTable(true)} />
          ) : (
            <p className="nothing">{props.empty}</p>
          )}
        </div>
      )}
    </figure>
  );
}

function LegendItem({
  series: { label, colour, isDashed, values },
  index,
  format,
}: {
  series: Series;
  index: number | null;
  format: ChartProps['format'];
}) {
  const value = index === null ? values.findLast((one) => one !== null) : values[index];
  return (
    <span>
      <i
        className={isDashed === true ? 'dot dash' : 'dot line'}
        style={{ '--m': `var(${colour})` } as CSSProperties}
        aria-hidden="true"
      />
      {label} <b>{shown(value, format)}</b>
    </span>
  );
}

function PlotArea({
  times,
  bucketMs,
  series,
  unit,
  format,
  bands = NO_BANDS,
  brush,
  hovered,
  onHover,
  onFailed,
}: ChartProps & { hovered: number | null; onHover: (index: number | null) => void; onFailed: () => void }) {
  const zone = useStore(preferences, (all) => all.zone);
  const theme = useStore(preferences, (all) => all.theme);
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const [area, setArea] = useState<Area | null>(null);
  const domain = { from: times[0] ?? 0, to: (times.at(-1) ?? 0) + bucketMs };
  const data: PlotData = { xs: times.map((at) => at + bucketMs / 2), domain, series, unit, format, zone };
  const latest = useRef(data);
  const look = JSON.stringify([
    series.map(({ label, colour, isDashed, width }) => [label, colour, isDashed, width]),
    bands,
  ]);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let isGone = false;
    const observer = new ResizeObserver(() => plot.current?.resize());
    void loadPlot().then((module) => {
      if (isGone) return;
      if (module === null) {
        onFailed();
        return;
      }
      plot.current = new module.Plot(element, latest.current, bands, (next) => setArea((old) => sameArea(old, next)));
      observer.observe(element);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [look]);
  const values = JSON.stringify([times, series.map((one) => one.values), zone]);
  useEffect(() => {
    latest.current = data;
    plot.current?.update(data);
  }, [values]);
  useEffect(() => {
    plot.current?.redraw();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const onChange = () => plot.current?.redraw();
    scheme.addEventListener('change', onChange);
    return () => scheme.removeEventListener('change', onChange);
  }, [theme]);

  return (
    <>
      <div ref={place} className="plot" aria-hidden="true" />
      {area !== null && (
        <Brush area={area} domain={domain} bucketMs={bucketMs} hovered={hovered} onHover={onHover} {...brush} />
      )}
    </>
  );
}

/** Null if the script could not be loaded. */
async function loadPlot() {
  try {
    return await import('./chart-plot.ts');
  } catch {
    return null;
  }
}

/** The old object if nothing has changed, so that drawing does not render. */
function sameArea(old: Area | null, next: Area): Area {
  return old !== null && JSON.stringify(old) === JSON.stringify(next) ? old : next;
}

function ChartTable({ title, times, series, format }: ChartProps) {
  const view = useView();
  return (
    <section className="chart-table" tabIndex={0} aria-label={`${title}, as a table`}>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ label }) => (
              <th key={label} scope="col" className="n">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times
            .map((at, index) => (
              <tr key={at}>
                <td>
                  <time dateTime={new Date(at).toISOString()}>{minute(at, view)}</time>
                </td>
                {series.map(({ label, values }) => (
                  <td key={label} className="n">
                    {shown(values[index], format)}
                  </td>
                ))}
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </section>
  );
}

function shown(value: number | null | undefined, format: ChartProps['format']): string {
  return value == null ? NONE : format(value);
}
