import './sparkline.css';
import { memo } from 'preact/compat';
import { stepPath } from '../../../parts/chart/step-path.ts';

interface SparkBar {
  work: number;
  failed: number;
  deferred: number;
  /** Something was changed in its time. */
  isMarked?: boolean;
}

const BAR = 4;
const HEIGHT = 24;
/** In the drawing's own units: about a pixel. */
const LEAST = 1;

/**
 * Bars over time, with those of an earlier time as a line: work grey, failed red, deferred violet, stacked. No axis;
 * `label` is one sentence that says it all.
 */
export const Sparkline = memo(function Sparkline({
  bars,
  ghost = [],
  label,
}: {
  bars: readonly SparkBar[];
  /** The height of each bar at an earlier time; null where it is not known. */
  ghost?: readonly (number | null)[] | undefined;
  label: string;
}) {
  const width = bars.length * BAR;
  const highest = Math.max(
    1,
    ...bars.map(({ work, failed, deferred }) => work + failed + deferred),
    ...ghost.map(Number),
  );
  const scale = (HEIGHT - LEAST) / highest;
  const columns = bars.map((bar) => stack(bar, scale));
  return (
    <svg className="spark" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {(['work', 'failed', 'put'] as const).map((part) => (
        // One path for each colour: a table has thousands of bars.
        <path key={part} className={part} d={columns.map((column, n) => rect(n * BAR, column[part])).join('')} />
      ))}
      <path className="ghost" d={stepPath(ghost, BAR, (value) => HEIGHT - value * scale)} />
      <path className="tick" d={bars.map(({ isMarked }, n) => (isMarked ? rect(n * BAR, [0, 3]) : '')).join('')} />
    </svg>
  );
});

type Extent = readonly [top: number, height: number];

function stack({ work, failed, deferred }: SparkBar, scale: number): Record<'work' | 'failed' | 'put', Extent> {
  let top = HEIGHT;
  const extent = (value: number): Extent => {
    const height = value === 0 ? 0 : Math.max(LEAST, value * scale);
    top -= height;
    return [Math.max(0, top), height];
  };
  return { work: extent(work), failed: extent(failed), put: extent(deferred) };
}

function rect(x: number, [top, height]: Extent): string {
  return height === 0 ? '' : `M${x} ${top.toFixed(1)}h${BAR - 1}v${height.toFixed(1)}h${1 - BAR}z`;
}
