/** `-2h` (before or after now), `2026-11-12`, or `2026-11-12T10:00Z`: as in the text. */
export type TimeBound = string;

const RELATIVE = /^([+-])(\d{1,6})([smhd])$/;
const ABSOLUTE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/;
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function isTimeBound(text: string): boolean {
  return problemOfBound(text) === null;
}

/** Nineteen centuries: before and after now they lead to years of four digits. The API takes no others. */
const MAX_DAYS = 700_000;

/** Returns why a text is no bound; null if it is one. */
export function problemOfBound(text: string): string | null {
  const isRelative = RELATIVE.test(text);
  if (!isRelative && !(ABSOLUTE.test(text) && isOfCalendar(text)))
    return 'A time is such as yesterday, >-2h, <2026-11-12 or 2026-11-12..2026-11-13.';
  if (isRelative && Math.abs(resolveBound(text, 'from', 0)) > MAX_DAYS * 86_400_000)
    return `A time is at most ${MAX_DAYS} days from now.`;
  return text.startsWith('0000') ? 'A time is in the years 0001 to 9999.' : null;
}

/** `Date.parse` takes the 30th of February for the 2nd of March. */
function isOfCalendar(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text.slice(0, 10));
}

/**
 * In milliseconds since 1970. As the end of a range, a day means its last millisecond. Days are those of UTC, also
 * where times are shown in local time: a URL must find the same jobs for the next reader, whose zone may be another
 * one, and a local day may have 23 or 25 hours. Chips say so.
 */
export function resolveBound(bound: TimeBound, side: 'from' | 'to', now: number): number {
  const [, sign, amount, unit] = bound.match(RELATIVE) ?? [];
  if (unit !== undefined) return now + (sign === '-' ? -1 : 1) * Number(amount) * (UNIT_MS[unit] ?? 0);
  const at = Date.parse(bound);
  return side === 'to' && !bound.includes('T') ? at + 86_400_000 - 1 : at;
}

/** A bound for a moment, to the second. */
export function boundAt(at: number): TimeBound {
  return new Date(Math.floor(at / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
