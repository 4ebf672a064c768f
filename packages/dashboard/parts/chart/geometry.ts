import { day, minute, type Zone } from '../../../query/words/format.ts';

/** Geometry of charts over time: buckets, axes and the brush. Times are in milliseconds since 1970. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Length of the buckets for a range, in seconds: 5 min up to 6 h, 30 min up to 36 h, an hour above. */
export function bucketSeconds(rangeMs: number): number {
  if (rangeMs <= 6 * HOUR) return 300;
  return rangeMs <= 36 * HOUR ? 1800 : 3600;
}

export interface Span {
  from: number;
  to: number;
}

/** The span between two times in any order: whole buckets within the chart. */
export function spanOfBuckets(a: number, b: number, domain: Span, bucketMs: number): Span {
  const clamp = (at: number) => Math.min(domain.to, Math.max(domain.from, at));
  const offset = (at: number) => (clamp(at) - domain.from) / bucketMs;
  const from = Math.floor(offset(Math.min(a, b)));
  const to = Math.max(from + 1, Math.ceil(offset(Math.max(a, b))));
  return { from: domain.from + from * bucketMs, to: Math.min(domain.to, domain.from + to * bucketMs) };
}

/** The part of a span that the chart shows; null if it shows none of it. */
export function spanWithin(span: Span, domain: Span): Span | null {
  const part = { from: Math.max(span.from, domain.from), to: Math.min(span.to, domain.to) };
  return part.from < part.to ? part : null;
}

/** The span with one edge moved by whole buckets. It stays within the chart, and is at least one bucket long. */
export function moveEdge(span: Span, edge: keyof Span, buckets: number, domain: Span, bucketMs: number): Span {
  const at = span[edge] + buckets * bucketMs;
  return edge === 'from'
    ? { ...span, from: Math.max(domain.from, Math.min(at, span.to - bucketMs)) }
    : { ...span, to: Math.min(domain.to, Math.max(at, span.from + bucketMs)) };
}

/** Something that happened at a moment. */
export interface Mark {
  at: number;
  text: string;
  /** Whether it happened to more than what the chart is about. */
  isOfAll?: boolean;
}

/** Marks with less room between them than this are one: so wide is the target of a pointer. */
const MARK_PX = 24;

/** The marks that a chart of this width shows, oldest first: each with those that it stands for. */
export function foldedMarks(marks: readonly Mark[], { from, to }: Span, width: number): [Mark, ...Mark[]][] {
  const place = ({ at }: Mark) => ((at - from) / (to - from)) * width;
  const folded: [Mark, ...Mark[]][] = [];
  for (const mark of [...marks].sort((a, b) => a.at - b.at)) {
    if (mark.at < from || mark.at >= to) continue;
    const last = folded.at(-1);
    if (last !== undefined && place(mark) - place(last[0]) < MARK_PX) last.push(mark);
    else folded.push([mark]);
  }
  return folded;
}

const TIME_STEPS = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080].map((minutes) => minutes * MINUTE);

/** Round times of the zone within a span, at most `most` of them. */
export function axisTimes({ from, to }: Span, zone: Zone, most: number): number[] {
  const step = TIME_STEPS.find((length) => (to - from) / length <= most) ?? to - from;
  const offsetAt = (at: number) => (zone === 'utc' ? 0 : -new Date(at).getTimezoneOffset() * MINUTE);
  const first = Math.ceil((from + offsetAt(from)) / step) * step;
  // The offset changes with the summer time, so each tick has its own.
  return Array.from({ length: Math.max(0, Math.floor((to - from) / step) + 2) }, (_, n) => first + n * step)
    .map((local) => local - offsetAt(local - offsetAt(local)))
    .filter((at) => at >= from && at <= to);
}

/** 12:30, and the day at its start: 12 Nov. */
export function axisTime(at: number, zone: Zone): string {
  const clock = minute(at, { now: at, zone });
  return clock === '00:00' ? day(at, { now: at, zone }) : clock;
}

export type Unit = 'number' | 'duration';

/** Steps that people read without thinking: 1, 2, 5, 10 …; of durations also 15 s, 30 s, 2 min, 1 h. */
const DURATION_STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440].map((minutes) => minutes * MINUTE),
];

/** Values of the grid, from 0 to the first step that is not below `max`; at most `steps` steps. */
export function axisValues(max: number, unit: Unit, steps: number): number[] {
  if (max <= 0) return [0, 1];
  const least = max / steps;
  const step = (unit === 'duration' ? DURATION_STEPS.find((one) => one >= least) : undefined) ?? roundStep(least);
  return Array.from({ length: Math.max(1, Math.ceil(max / step)) + 1 }, (_, n) => roundOff(n * step));
}

function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return roundOff(([1, 2, 5].find((one) => one * power >= least) ?? 10) * power);
}

/** Without the last bits that binary fractions leave: 0.3, not 0.30000000000000004. */
const roundOff = (value: number) => Number(value.toPrecision(12));

/** Values without zeros, but for those beside another value, to which the line falls. */
export function withoutRest(values: readonly (number | null)[]): (number | null)[] {
  const isSome = (index: number) => (values[index] ?? 0) !== 0;
  return values.map((value, index) => (isSome(index - 1) || isSome(index) || isSome(index + 1) ? value : null));
}

/** The part of a drawing within its axes, in pixels. */
export interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A value in a drawing, in pixels; null where there is no value. */
export type Dot = { x: number; y: number } | null;

const place = ({ x, y }: NonNullable<Dot>) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** The line through the dots, as the path of an SVG. It is broken where a value is missing. */
export function linePath(dots: readonly Dot[]): string {
  return dots.map((dot, index) => (dot === null ? '' : `${dots[index - 1] ? 'L' : 'M'}${place(dot)}`)).join('');
}

/** Dots without a neighbour: a line through them has no length. */
export function lonePath(dots: readonly Dot[]): string {
  return dots
    .map((dot, index) => (dot === null || dots[index - 1] || dots[index + 1] ? '' : `M${place(dot)}h0`))
    .join('');
}

/** The area between two lines, where the upper one is above the lower one. */
export function bandPath(upper: readonly Dot[], lower: readonly Dot[]): string {
  return upper.map((_, index) => slice(upper[index], upper[index + 1], lower[index + 1], lower[index])).join('');
}

/** The part between two buckets: `a` to `b` is the upper line, `d` to `c` the lower one. Pixels grow downwards. */
function slice(a?: Dot, b?: Dot, c?: Dot, d?: Dot): string {
  if (!a || !b || !c || !d) return '';
  const [before, after] = [d.y - a.y, c.y - b.y];
  if (before <= 0 && after <= 0) return '';
  if (before >= 0 && after >= 0) return polygon(a, b, c, d);
  const share = before / (before - after);
  const crossing = { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share };
  return before > 0 ? polygon(a, crossing, d) : polygon(crossing, b, c);
}

const polygon = (...corners: NonNullable<Dot>[]) => `M${corners.map(place).join('L')}Z`;
