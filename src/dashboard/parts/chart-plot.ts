import UPlot from 'uplot';
import { axisTime, axisTimes, axisValues, type Span, type Unit, withoutRest } from '../model/chart.ts';
import type { Zone } from '../model/format.ts';
import type { Band, Series } from './chart.tsx';

/** The part of a chart that needs uPlot, in a script of its own. uPlot draws lines and axes; all else is HTML. */

export interface PlotData {
  /** Middles of the buckets, in milliseconds. */
  xs: readonly number[];
  domain: Span;
  series: readonly Series[];
  unit: Unit;
  format: (value: number) => string;
  zone: Zone;
}

/** The area within the axes, in CSS pixels. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Distance between the labels of the time axis, and of the value axis. */
const LABEL_PX = { x: 84, y: 34 };
const AXIS = { gap: 6, x: 24, padding: 8 };

export class Plot {
  readonly #element: HTMLElement;
  readonly #plot: UPlot;
  #data: PlotData;

  constructor(element: HTMLElement, data: PlotData, bands: readonly Band[], onArea: (area: Area) => void) {
    this.#element = element;
    this.#data = data;
    this.#plot = new UPlot(
      {
        ...sizeOf(element),
        padding: [AXIS.padding, 1, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        scales: {
          x: { time: false, range: () => [this.#data.domain.from, this.#data.domain.to] },
          y: { range: () => [0, this.#ys().at(-1) ?? 1] },
        },
        axes: [this.#timeAxis(), this.#valueAxis()],
        series: [{}, ...data.series.map((one) => this.#line(one))],
        bands: bands.map(({ upper, lower, colour }) => ({
          series: [upper + 1, lower + 1],
          fill: () => this.#colour(`color-mix(in srgb, var(${colour}) 30%, transparent)`),
        })),
        hooks: { drawClear: [(plot) => onArea(areaOf(plot))] },
      },
      alignedData(data),
      element,
    );
  }

  update(data: PlotData): void {
    this.#data = data;
    this.#plot.setData(alignedData(data));
  }

  resize(): void {
    this.#plot.setSize(sizeOf(this.#element));
  }

  /** Colours are taken from the tokens again, for another theme. */
  redraw(): void {
    this.#plot.redraw(false);
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #ys(): number[] {
    const { series, unit } = this.#data;
    const max = series.flatMap(({ values }) => values).reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
    const steps = Math.max(1, Math.floor((this.#element.clientHeight - AXIS.x) / LABEL_PX.y));
    return axisValues(max, unit, steps);
  }

  #timeAxis(): UPlot.Axis {
    return {
      ...this.#axis(),
      size: AXIS.x,
      grid: { show: false },
      border: { show: true, stroke: () => this.#colour('var(--edge)'), width: 1 },
      splits: (plot) => {
        const { from, to } = this.#data.domain;
        // A label has half of its width on each side of its time, and none may be cut at the end.
        const end = to - ((to - from) * LABEL_PX.x) / 4 / plot.width;
        return axisTimes({ from, to: end }, this.#data.zone, Math.max(1, plot.width / LABEL_PX.x));
      },
      values: (_plot, times) => times.map((at) => axisTime(at, this.#data.zone)),
    };
  }

  #valueAxis(): UPlot.Axis {
    return {
      ...this.#axis(),
      size: () => {
        const longest = Math.max(...this.#ys().map((value) => this.#label(value).length));
        return AXIS.gap + 6 + longest * 6.5;
      },
      grid: { stroke: () => this.#colour('var(--line)'), width: 1 },
      splits: () => this.#ys(),
      values: (_plot, values) => values.map((value) => this.#label(value)),
    };
  }

  /** Zero needs no unit. */
  #label(value: number): string {
    return value === 0 ? '0' : this.#data.format(value);
  }

  #axis(): UPlot.Axis {
    const font = `500 12px ${getComputedStyle(this.#element).fontFamily}`;
    return { stroke: () => this.#colour('var(--ink-3)'), font, gap: AXIS.gap, ticks: { show: false } };
  }

  #line({ label, colour, isDashed = false, width = 1.75 }: Series): UPlot.Series {
    const stroke = () => this.#colour(`var(${colour})`);
    return {
      ...{ label, stroke, width },
      ...(isDashed && { dash: [5, 3] }),
      // A line of one point has no length, so such a point is drawn as a dot.
      points: { show: true, size: 4, width: 0, fill: stroke, filter: (plot, index) => lonePoints(plot.data[index]) },
    };
  }

  /** A canvas knows no variables, so colours are resolved through an element. */
  #colour(value: string): string {
    const probe = document.createElement('i');
    probe.style.color = value;
    this.#element.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  }
}

function lonePoints(values: UPlot.AlignedData[number] | undefined): number[] {
  const isThere = (index: number) => values?.[index] != null;
  return Array.from(values ?? [], (_value, index) => index).filter(
    (index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1),
  );
}

function alignedData({ xs, series }: PlotData): UPlot.AlignedData {
  return [[...xs], ...series.map((one) => (one.hidesZero === true ? withoutRest(one.values) : [...one.values]))];
}

function areaOf({ bbox }: UPlot): Area {
  const ratio = devicePixelRatio;
  return {
    ...{ left: bbox.left / ratio, top: bbox.top / ratio },
    ...{ width: bbox.width / ratio, height: bbox.height / ratio },
  };
}

function sizeOf({ clientWidth: width, clientHeight: height }: HTMLElement): { width: number; height: number } {
  return { width, height };
}
