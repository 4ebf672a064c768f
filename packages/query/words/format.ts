/** Numbers, spans and times as text. Pure: the present time and the zone come from the caller. */

export type Zone = 'utc' | 'local';

/** The moment and the zone in which a text is read. `now` is server time, in milliseconds. */
export interface View {
  now: number;
  zone: Zone;
}

/** Narrow, and no line breaks at it: groups digits. */
const THIN = '\u202f';
/** No line breaks between a number and its unit. */
const NB = '\u00a0';
/** For "no value". */
export const NONE = '–';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
export const HOUR_MS = 60 * MINUTE;
const DAY = 24 * HOUR_MS;

/** 12 345 */
export function number(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** 10 000+ for a count that stopped at its maximum. */
export function count(value: number, exact = true): string {
  return exact ? number(value) : `${number(value)}+`;
}

/** A count as the server returns it. */
export interface Count {
  count: number;
  /** False if the server stopped at its maximum. */
  exact: boolean;
}

/** The word for one or for many, with its number: 1 job, 2 jobs. */
export function many(value: number, one: string, others = `${one}s`): string {
  return `${number(value)}${NB}${value === 1 ? one : others}`;
}

/** 12.3 %, and 99.9 % for what is nearly, but not all. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return NONE;
  const share = (part / whole) * 100;
  if (part > 0 && share < 0.05) return `under 0.1${NB}%`;
  const text =
    share > 99.9 && part < whole ? '99.9' : share < 10 || share > 99 ? trim(share.toFixed(1)) : share.toFixed(0);
  return `${text}${NB}%`;
}

const trim = (decimal: string) => decimal.replace(/\.0+$/, '');

/** 396 B, 12.4 KiB, 1 MiB */
export function bytes(value: number): string {
  if (value < 1024) return `${number(value)}${NB}B`;
  const [size, unit] = value < 1024 * 1024 ? [value / 1024, 'KiB'] : [value / (1024 * 1024), 'MiB'];
  return `${trim(size.toFixed(1))}${NB}${unit}`;
}

/**
 * A span that counts, in whole units, the two largest: 11 s, 2 min 4 s, 2 h 4 min, 3 d 4 h. Never negative.
 */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / SECOND));
  const units: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = units.findIndex(([value]) => value > 0);
  if (first < 0) return `0${NB}s`;
  return units
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value}${NB}${unit}`)
    .join(NB);
}

/** Time that has passed is rounded; time that is left counts the begun second too. */
const passed = (ms: number) => span(Math.round(ms / SECOND) * SECOND);

/** How long something took: 212 ms, 1.2 s, 15 s, 2 min 4 s. */
export function took(ms: number): string {
  if (ms < SECOND) return `${number(Math.max(0, Math.round(ms)))}${NB}ms`;
  if (ms < 10 * SECOND) return `${trim((ms / SECOND).toFixed(1))}${NB}s`;
  return ms < MINUTE ? `${trim((ms / SECOND).toFixed(1))}${NB}s` : passed(ms);
}

/** How long something took, in a column: 212 ms, 1.20 s, 15.00 s. */
export function tookExactly(ms: number): string {
  return ms < SECOND ? took(ms) : ms < MINUTE ? `${(ms / SECOND).toFixed(2)}${NB}s` : passed(ms);
}

/** A setting in seconds: 15 s, 5 min, 24 h. */
export function seconds(value: number): string {
  if (value < 1 && value > 0) return `${trim((value * 1000).toFixed(1))}${NB}ms`;
  if (value % 1 !== 0) return `${value}${NB}s`;
  // People say 24 h and 48 h, not 1 d and 2 d.
  if (value % 3600 === 0 && value > 0 && value <= 72 * 3600) return `${value / 3600}${NB}h`;
  return span(value * SECOND);
}

/** The text with a capital first letter, and without one. */
export const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
/** "a", "a and b", "a, b and c"; empty for none. */
export function listed(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** A text of the server, as a sentence of its own. */
export function asSentence(message: string): string {
  const text = upperFirst(message);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

export const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

interface Parts {
  year: number;
  month: string;
  day: number;
  clock: string;
  ms: string;
}

function parts(at: number, zone: Zone): Parts {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const of = (utc: number, local: number) => (zone === 'utc' ? utc : local);
  return {
    year: of(date.getUTCFullYear(), date.getFullYear()),
    month: MONTHS[of(date.getUTCMonth(), date.getMonth())] ?? '',
    day: of(date.getUTCDate(), date.getDate()),
    clock: [
      of(date.getUTCHours(), date.getHours()),
      of(date.getUTCMinutes(), date.getMinutes()),
      of(date.getUTCSeconds(), date.getSeconds()),
    ]
      .map(two)
      .join(':'),
    ms: String(date.getUTCMilliseconds()).padStart(3, '0'),
  };
}

/** 12:04:22; with the day when it is not today: 13 Nov, 12:04:22; with the year when it is not this year. */
export function time(at: number, { now, zone }: View): string {
  return withDay(at, { now, zone }, parts(at, zone).clock);
}

/** 12:04; with the day when it is not today. */
export function minute(at: number, view: View): string {
  return withDay(at, view, parts(at, view.zone).clock.slice(0, 5));
}

/** 12:03:36.9, for the course of a job. */
export function timeWithTenths(at: number, view: View): string {
  const { clock, ms } = parts(at, view.zone);
  return withDay(at, view, `${clock}.${ms.slice(0, 1)}`);
}

function withDay(at: number, { now, zone }: View, clock: string): string {
  const [then, today] = [parts(at, zone), parts(now, zone)];
  if (then.year !== today.year) return `${then.day}${NB}${then.month}${NB}${then.year}, ${clock}`;
  return then.day === today.day && then.month === today.month ? clock : `${then.day}${NB}${then.month}, ${clock}`;
}

/** 12 Nov 2026, 12:03:36.902 */
export function exactTime(at: number, zone: Zone): string {
  const { year, month, day, clock, ms } = parts(at, zone);
  return `${day}${NB}${month}${NB}${year}, ${clock}.${ms}`;
}

/** 34 s ago, 2 min ago; from ten minutes on the time: 11:40, 9 Nov. A time to come: in 11 s. */
export function ago(at: number, view: View): string {
  const passed = view.now - at;
  if (passed < 0) return -passed < SECOND ? 'now' : `in${NB}${span(-passed)}`;
  if (passed < SECOND) return 'now';
  if (passed < MINUTE) return `${Math.floor(passed / SECOND)}${NB}s${NB}ago`;
  if (passed < 10 * MINUTE) return `${Math.floor(passed / MINUTE)}${NB}min${NB}ago`;
  return passed < DAY ? minute(at, view) : day(at, view);
}

export function day(at: number, { now, zone }: View): string {
  const [then, today] = [parts(at, zone), parts(now, zone)];
  const text = `${then.day}${NB}${then.month}`;
  return then.year === today.year ? text : `${text}${NB}${then.year}`;
}

/** The first line of a receiver's answer, for a row. */
export const firstLineOf = (body: string | null | undefined) => visible(body?.trim().split(/\r?\n/, 1)[0] ?? '');

const MOST_QUOTED = 120;
/** Characters that are not seen, and turn the direction of the text around them. */
export const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text of a client or a receiver for people: what would turn it, and our words beside it, is written out. Copies have
 * the text itself.
 */
export const visible = (text: string) =>
  text.replace(TURNING, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);

/**
 * Returns words of a worker or a receiver in quotes: so much of them as a sentence can carry,
 * and nothing that reorders it.
 */
export function quote(text: string): string {
  const characters = [...visible(text.slice(0, 4 * MOST_QUOTED))];
  return characters.length > MOST_QUOTED
    ? `“${characters.slice(0, MOST_QUOTED - 1).join('')}…”`
    : `“${characters.join('')}”`;
}
