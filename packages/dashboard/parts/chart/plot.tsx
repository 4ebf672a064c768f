import type { CSSProperties } from 'preact/compat';
import type { Zone } from '../../../query/words/format.ts';
import {
  type Area,
  axisTime,
  axisTimes,
  axisValues,
  bandPath,
  type Dot,
  linePath,
  lonePath,
  type Unit,
  withoutRest,
} from './geometry.ts';

/** Distance between the labels of the time axis, and of the value axis. */
const LABEL_PX = { x: 84, y: 34 };
const AXIS = { gap: 6, x: 24, padding: 8 };
/** Width of a figure of a label, about. */
const FIGURE_PX = 6.5;

export interface Series {
  label: string;
  /** A token, such as `--bad-mark`. */
  colour: string;
  /** Lines differ in dash too, for those who see no difference in colour. */
  isDashed?: boolean;
  /** A line of an earlier time. It stands behind the others. */
  isGhost?: boolean;
  /** In pixels. */
  width?: number;
  /** Nothing is drawn where it stays at zero, so that trouble stands out where there is some. */
  hidesZero?: boolean;
  values: readonly (number | null)[];
}

/** The area between two lines is filled where the upper one is above the lower one. */
interface Band {
  /** Indexes of series. */
  upper: number;
  lower: number;
  colour: string;
}

/** The data of a plot. `Chart` adds a head, a brush and a table. */
export interface PlotProps {
  /** Starts of the buckets, in milliseconds. */
  times: readonly number[];
  bucketMs: number;
  series: readonly Series[];
  unit: Unit;
  /** A value as text, for the axis, the legend and the table. */
  format: (value: number) => string;
  bands?: readonly Band[];
}

export interface Size {
  width: number;
  height: number;
}

/** Values of the grid, and the area that is left for the lines beside their labels. */
export function layoutOf({ width, height }: Size, { series, unit, format }: PlotProps): { ys: number[]; area: Area } {
  const max = series.flatMap(({ values }) => values).reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  const ys = axisValues(max, unit, Math.max(1, Math.floor((height - AXIS.x) / LABEL_PX.y)));
  const longest = Math.max(...ys.map((value) => textOf(value, format).length));
  const left = Math.round(2 * AXIS.gap + longest * FIGURE_PX);
  return {
    ys,
    area: { left, top: AXIS.padding, width: width - left - 1, height: height - AXIS.padding - AXIS.x },
  };
}

/** Zero needs no unit. */
const textOf = (value: number, format: PlotProps['format']) => (value === 0 ? '0' : format(value));

/** The lines of a chart with their axes. What else a chart has is HTML, around it and over it. */
export function Plot({
  size,
  area,
  ys,
  zone,
  times,
  bucketMs,
  series,
  format,
  bands = [],
}: PlotProps & { size: Size; area: Area; ys: readonly number[]; zone: Zone }) {
  const [from, to] = [times[0] ?? 0, (times.at(-1) ?? 0) + bucketMs];
  const { left, top, width, height } = area;
  const x = (at: number) => left + ((at - from) / (to - from)) * width;
  const y = (value: number) => top + height * (1 - value / (ys.at(-1) ?? 1));
  const dots = series.map(({ values, hidesZero }) =>
    (hidesZero === true ? withoutRest(values) : values).map((value, index): Dot => {
      return value === null ? null : { x: x((times[index] ?? 0) + bucketMs / 2), y: y(value) };
    }),
  );
  // A label has half of its width on each side of its time, and none may be cut at the end.
  const end = to - ((to - from) * LABEL_PX.x) / 4 / width;
  return (
    <svg {...size} aria-hidden="true">
      {ys.map((value) => (
        <g key={value}>
          <path className={value === 0 ? 'axis' : 'grid'} d={`M${left} ${Math.round(y(value)) + 0.5}h${width}`} />
          <text x={left - AXIS.gap} y={y(value)} textAnchor="end" dominantBaseline="central">
            {textOf(value, format)}
          </text>
        </g>
      ))}
      {axisTimes({ from, to: end }, zone, Math.max(1, width / LABEL_PX.x)).map((at) => (
        <text key={at} x={x(at)} y={size.height - AXIS.gap} textAnchor="middle">
          {axisTime(at, zone)}
        </text>
      ))}
      {bands.map(({ upper, lower, colour }) => (
        <path key={colour} className="band" style={fill(colour)} d={bandPath(dots[upper] ?? [], dots[lower] ?? [])} />
      ))}
      {series.map((one, index) => (
        <Line key={one.label} series={one} dots={dots[index] ?? []} />
      ))}
    </svg>
  );
}

const fill = (colour: string): CSSProperties => ({ fill: `var(${colour})` });

function Line({
  series: { colour, isDashed, isGhost, width = isGhost === true ? 1.25 : 1.75 },
  dots,
}: {
  series: Series;
  dots: readonly Dot[];
}) {
  return (
    <g className={isGhost === true ? 'line ghost' : 'line'} style={{ stroke: `var(${colour})` }}>
      <path d={linePath(dots)} strokeWidth={width} strokeDasharray={isDashed === true ? '5 3' : undefined} />
      <path d={lonePath(dots)} className="lone" />
    </g>
  );
}
