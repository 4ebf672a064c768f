import 'uplot/dist/uPlot.min.css';
import UPlot from 'uplot';
import { serverNow } from '../clock.ts';
import { minute, type Zone } from '../model/format.ts';
import type { Series } from './chart.tsx';

/** The part of a chart that needs uPlot, loaded when the first chart is shown. */

interface Latest {
  current: {
    onBrush?: ((from: number, to: number) => void) | undefined;
    format: (value: number) => string;
    zone: Zone;
  };
}

export function sizeOf(element: HTMLElement): { width: number; height: number } {
  return { width: element.clientWidth, height: element.clientHeight };
}

export function createPlot(
  element: HTMLElement,
  { times, series, latest }: { times: readonly number[]; series: readonly Series[]; latest: Latest },
): UPlot {
  const style = getComputedStyle(element);
  // A canvas knows no variables, so tokens are resolved through an element.
  const colour = (token: string) => resolve(element, `var(${token})`);
  const font = `500 12px ${style.fontFamily}`;
  const axis = {
    stroke: colour('--ink-3'),
    font,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return new UPlot(
    {
      ...sizeOf(element),
      legend: { show: false },
      cursor: { y: false, drag: { x: latest.current.onBrush !== undefined, y: false, setScale: false } },
      axes: [
        {
          ...axis,
          values: (_plot, at) =>
            at.map((second) => minute(second * 1000, { now: serverNow(), zone: latest.current.zone })),
        },
        { ...axis, size: 56, values: (_plot, values) => values.map((value) => latest.current.format(value)) },
      ],
      series: [{}, ...series.map((one) => seriesOptions(one, colour(one.colour)))],
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width < 4) return;
            const at = (x: number) => plot.posToVal(x, 'x') * 1000;
            latest.current.onBrush?.(at(left), at(left + width));
          },
        ],
      },
    },
    [times.map((at) => at / 1000), ...series.map(({ values }) => [...values])] as UPlot.AlignedData,
    element,
  );
}

function seriesOptions({ label, isDashed, kind }: Series, stroke: string): UPlot.Series {
  if (kind === 'bars') {
    const paths = UPlot.paths.bars?.({ size: [0.85, 40] });
    return { label, fill: stroke, ...(paths !== undefined && { paths }), points: { show: false } };
  }
  return { label, stroke, width: 1.5, points: { show: false }, ...(isDashed === true && { dash: [4, 3] }) };
}

function resolve(element: HTMLElement, value: string): string {
  const probe = document.createElement('i');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
