import './chart.css';
import { type CSSProperties, type ReactNode, useEffect, useRef } from 'react';
import type uPlot from 'uplot';
import { serverNow } from '../clock.ts';
import { minute } from '../model/format.ts';
import { preferences } from '../preferences.ts';
import { useStore } from '../store.ts';

export interface Series {
  label: string;
  /** A token, such as `--bad-mark`. */
  colour: string;
  /** Lines differ in dash too. */
  isDashed?: boolean;
  kind?: 'line' | 'bars';
  values: readonly (number | null)[];
}

export interface ChartProps {
  /** The chart as one sentence. */
  sentence: ReactNode;
  /** Starts of the buckets, in milliseconds. */
  times: readonly number[];
  series: readonly Series[];
  /** A value as text, for the axis, the legend and the table. */
  format: (value: number) => string;
  /** A range was dragged. Without it, the chart has no brush. */
  onBrush?: (from: number, to: number) => void;
  heightRem?: number;
}

/** A figure with a sentence, a legend with the latest values, the chart, and its numbers as a table. */
export function Chart({ sentence, times, series, format, onBrush, heightRem = 12 }: ChartProps) {
  const zone = useStore(preferences, (all) => all.zone);
  const theme = useStore(preferences, (all) => all.theme);
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ onBrush, format, zone });
  useEffect(() => {
    latest.current = { onBrush, format, zone };
  });
  const shape = JSON.stringify([
    theme,
    onBrush !== undefined,
    series.map(({ label, colour, isDashed, kind }) => [label, colour, isDashed, kind]),
  ]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let isGone = false;
    let observer: ResizeObserver | null = null;
    void import('./chart-plot.ts').then(({ createPlot, sizeOf }) => {
      if (isGone) return;
      plot.current = createPlot(element, { times, series, latest });
      observer = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)));
      observer.observe(element);
    });
    return () => {
      isGone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData([
      times.map((at) => at / 1000),
      ...series.map(({ values }) => [...values]),
    ] as uPlot.AlignedData);
  }, [times, series]);

  const view = { now: serverNow(), zone };
  return (
    <figure className="chart-figure">
      <figcaption>{sentence}</figcaption>
      <div className="legend">
        {series.map(({ label, colour, isDashed, kind, values }) => (
          <span key={label}>
            <i
              className={`dot ${kind === 'bars' ? '' : isDashed === true ? 'dash' : 'line'}`}
              style={{ '--m': `var(${colour})` } as CSSProperties}
            />
            {label} <b>{shown(values.at(-1) ?? null, format)}</b>
          </span>
        ))}
      </div>
      <div ref={place} className="plot" style={{ '--height': `${heightRem}rem` } as CSSProperties} aria-hidden="true" />
      <details>
        <summary>Show as a table</summary>
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
            {times.map((at, index) => (
              <tr key={at}>
                <td>{minute(at, view)}</td>
                {series.map(({ label, values }) => (
                  <td key={label} className="n">
                    {shown(values[index] ?? null, format)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

const shown = (value: number | null, format: (value: number) => string) => (value === null ? '–' : format(value));

/** Length of the buckets for a range, in seconds: 5 min up to 6 h, 30 min up to 36 h, an hour above. */
export function bucketSeconds(rangeMs: number): number {
  const hours = rangeMs / 3_600_000;
  if (hours <= 6) return 300;
  return hours <= 36 ? 1800 : 3600;
}
