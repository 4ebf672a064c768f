import { HOUR_MS, many, span } from '../../query/words/format.ts';

/** The earlier time that charts compare with. */

/** An earlier time that a chart also shows, by `?compare=`. */
const COMPARISONS = [
  { name: 'day', label: 'With yesterday', word: 'yesterday', ms: 24 * HOUR_MS },
  { name: 'week', label: 'With last week', word: 'last week', ms: 7 * 24 * HOUR_MS },
] as const;
export type Comparison = (typeof COMPARISONS)[number];

/** Those with statistics still, and the one that an address names, so that it can be left. */
export const comparisonsOffered = (retentionSeconds: number, chosen: string | null) =>
  COMPARISONS.filter(({ name, ms }) => name === chosen || ms <= retentionSeconds * 1000);

export function comparisonOf(name: string | null): Comparison | null {
  return COMPARISONS.find((one) => one.name === name) ?? null;
}

/** Why the line of an earlier time is missing or begins late; null if it is whole. */
export function missingOfGhost(
  from: number,
  { word, ms }: Comparison,
  { now, retentionSeconds }: { now: number; retentionSeconds: number },
): string | null {
  const earliest = now - retentionSeconds * 1000;
  const kept = `statistics are kept for ${span(retentionSeconds * 1000)}`;
  if (now - ms < earliest) return `There is no line for ${word}: ${kept}.`;
  return from - ms < earliest ? `The line for ${word} starts later than the chart: ${kept}.` : null;
}

/**
 * Points of an earlier time at the starts of these buckets, in milliseconds;
 * undefined where there are no statistics any more.
 */
export function pointsThen<Point extends { at: string }>(
  times: readonly number[],
  then: readonly Point[],
  { ms }: Comparison,
): (Point | undefined)[] {
  const byStart = new Map(then.map((point) => [Date.parse(point.at) + ms, point]));
  return times.map((at) => byStart.get(at));
}

/** "The same period yesterday: 1 204 attempts." Nothing is said of what is not known. */
export function thenText(values: readonly (number | null)[], one: string, { word }: Comparison): string {
  if (values.every((value) => value === null)) return '';
  return `The same period ${word}: ${many(
    values.reduce<number>((sum, value) => sum + (value ?? 0), 0),
    one,
  )}.`;
}
