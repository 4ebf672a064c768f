import { meantBy } from '../../../src/domain/spelling.ts';
import { visible } from '../words/format.ts';
import { isJobId } from '../words/job-id.ts';
import type { Context, Kind } from './table.ts';
import { formatText, splitValues, Unreadable, unique, unquote } from './text.ts';
import { problemOfBound, resolveBound, type TimeBound } from './time-bound.ts';
import { inMoments } from './time-in-words.ts';

/** The kinds of values that several words have. For conditions on payloads: payload.ts. */

/** Several values, of which one must hold. */
function list<Value extends string>(
  read: (text: string) => readonly Value[],
  label: (value: Value) => string,
  send?: (value: Value) => unknown,
): Kind<readonly Value[]> {
  return {
    parse: (text) => unique(splitValues(text).map(unquote).flatMap(read)),
    format: (values) => values.map(formatText).join(','),
    label: (values) => values.map(label).join(', '),
    join: (old, added) => unique([...old, ...added]),
    ...(send !== undefined && { send: (values) => values.map(send) }),
  };
}

export const TEXTS = list(
  (text) => [text],
  (text) => text,
);

/** Names of a table with their names in the API. A synonym stands for one or more of them. */
export function names<Name extends string>(
  table: Readonly<Record<Name, string>>,
  what: string,
  synonyms: Readonly<Record<string, readonly NoInfer<Name>[]>> = {},
): Kind<readonly Name[]> {
  const read = (text: string): readonly Name[] => {
    const name = text.toLowerCase().replaceAll('_', '-');
    if (Object.hasOwn(table, name)) return [name as Name];
    if (Object.hasOwn(synonyms, name)) return synonyms[name] ?? [];
    const meant = meantBy(name, [...Object.keys(table), ...Object.keys(synonyms)]);
    const others = meant === null ? `There is ${Object.keys(table).join(', ')}.` : `Did you mean ${meant}?`;
    throw new Unreadable(`There is no ${what} “${text}”. ${others}`);
  };
  const label = (name: Name) => name.replaceAll('-', ' ');
  return list(read, label, (name) => table[name]);
}

/** Values of a form, such as status codes. The problem says what the form is. */
export function formed(form: RegExp, problem: string, label = (value: string) => value): Kind<readonly string[]> {
  return list((text) => {
    const value = text.toLowerCase();
    if (!form.test(value)) throw new Unreadable(problem);
    return [value];
  }, label);
}

/** The members of the API for codes: `5xx` and `0`, for no answer, are classes. */
export const codesAs = (member: string) => (values: readonly string[]) => {
  const isClass = (code: string) => code === '0' || code.endsWith('xx');
  const [codes, classes] = [values.filter((code) => !isClass(code)), values.filter(isClass)];
  return {
    ...(codes.length > 0 && { [`${member}Codes`]: codes.map(Number) }),
    ...(classes.length > 0 && { [`${member}Classes`]: classes.map((code) => Number(code[0])) }),
  };
};

/** One of several names. */
export function choice<Name extends string>(table: Readonly<Record<Name, unknown>>): Kind<Name> {
  return {
    parse: (text, word) => {
      if (Object.hasOwn(table, text)) return text as Name;
      const all = Object.keys(table).map((name) => `${word}:${name}`);
      throw new Unreadable(`It is ${all.slice(0, -1).join(', ')} or ${all.at(-1)}.`);
    },
    format: (name) => name,
    label: (name) => name,
  };
}

const textOf = (text: string) => {
  const value = unquote(text.replace(/^~/, ''));
  if (value === '') throw new Unreadable('A text is missing.');
  return value;
};
const contains = (text: string) => `contains “${visible(text)}”`;

/** A part of a text. */
export const PART: Kind<string> = { parse: textOf, format: (text) => `~${formatText(text)}`, label: contains };

/** A part of a text, or with `=` the whole text. */
export const PART_OR_WHOLE: Kind<{ text: string; isWhole?: true }> = {
  parse: (text) => (text.startsWith('=') ? { text: textOf(text.slice(1)), isWhole: true } : { text: textOf(text) }),
  format: ({ text, isWhole }) => `${isWhole ? '=' : '~'}${formatText(text)}`,
  label: ({ text, isWhole }) => (isWhole ? `is “${visible(text)}”` : contains(text)),
};

/** A whole text, which `""` says is empty. */
export const WHOLE: Kind<string> = {
  parse: (text) => (text === '""' ? '' : textOf(text)),
  format: formatText,
  label: (text) => (text === '' ? 'none' : `“${visible(text)}”`),
};

/** Text of a field, which needs no quotes. */
export const FIELD: Kind<string> = { ...PART, parse: (text) => text || textOf(text), format: (text) => text };

export const ID: Kind<string> = {
  parse: (text, word) => {
    if (isJobId(text)) return text;
    throw new Unreadable(`An ${word} has an id of 24 digits of 0-9 and a-f.`);
  },
  format: (id) => id,
  label: (id) => `…${id.slice(-5)}`,
};

interface Bounds {
  min: number | null;
  max: number | null;
}

const boundsAs = (atLeast: string, atMost: string, to: string) => (range: Bounds) => {
  const { min, max } = range;
  if (min === max) return String(min);
  if (max === null) return `${atLeast}${min}`;
  return min === null ? `${atMost}${max}` : `${min}${to}${max}`;
};

export const NUMBERS: Kind<Bounds> = {
  parse: (text, word) => {
    const [, op = '', first = '', last] = text.match(/^(>=|<=|>|<|)(\d{1,4})(?:\.\.(\d{1,4}))?$/) ?? [];
    if (first === '') throw new Unreadable(`${word} are such as 3, >2 or 2..4.`);
    const value = Number(first);
    if (last !== undefined) {
      if (op !== '' || Number(last) < value) throw new Unreadable('A range is such as 2..4.');
      return { min: value, max: Number(last) };
    }
    if (op === '') return { min: value, max: value };
    if (op.startsWith('>')) return { min: op === '>' ? value + 1 : value, max: null };
    if (op === '<' && value === 0) throw new Unreadable(`No job has fewer than 0 ${word}.`);
    return { min: null, max: op === '<' ? value - 1 : value };
  },
  format: boundsAs('>=', '<=', '..'),
  label: boundsAs('≥ ', '≤ ', ' to '),
  send: ({ min, max }) => ({ ...(min !== null && { min }), ...(max !== null && { max }) }),
};

export interface TimeRange {
  from: TimeBound | null;
  to: TimeBound | null;
}

const UNITS: Readonly<Record<string, string>> = { s: 's', m: 'min', h: 'h', d: 'd' };
const spanOf = (bound: string) => `${bound.slice(1, -1)} ${UNITS[bound.slice(-1)] ?? ''}`;
const boundText = (bound: TimeBound) => {
  if (bound.startsWith('-')) return `${spanOf(bound)} ago`;
  if (bound.startsWith('+')) return `in ${spanOf(bound)}`;
  const utc = `${bound.replace('T', ' ').replace(/Z$/, '')} UTC`;
  const here = bound.includes('T') ? localMinute(Date.parse(bound)) : null;
  return here === null ? utc : `${here} (${utc})`;
};

/** In the zone of the reader; null where that is UTC. */
function localMinute(at: number): string | null {
  const offset = new Date(at).getTimezoneOffset();
  if (offset === 0) return null;
  return new Date(at - offset * 60_000).toISOString().slice(0, 16).replace('T', ' ');
}

/**
 * Whether a range has no moment, whenever it is used: of a time of the calendar and one before now, that is not known.
 */
function isReversed(from: string, to: string): boolean {
  const isOfCalendar = (bound: string) => /^\d/.test(bound);
  return isOfCalendar(from) === isOfCalendar(to) && resolveBound(from, 'from', 0) > resolveBound(to, 'to', 0);
}

export const TIMES: Kind<TimeRange> = {
  parse: (typed, _word, now) => {
    const text = now === undefined ? typed : inMoments(typed, now);
    const [, op, single = ''] = text.match(/^([><])(.+)$/) ?? [];
    const [first = '', last = text, ...more] = text.split('..');
    const range =
      op === undefined
        ? { from: first, to: last }
        : { from: op === '>' ? single : null, to: op === '<' ? single : null };
    for (const bound of more.length > 0 ? [text] : [range.from, range.to]) {
      const problem = bound === null ? null : problemOfBound(bound);
      if (problem !== null) throw new Unreadable(problem);
    }
    if (range.from !== null && range.to !== null && isReversed(range.from, range.to)) {
      throw new Unreadable('The second time is before the first one.');
    }
    return range;
  },
  format: ({ from, to }) => (to === null ? `>${from}` : from === null ? `<${to}` : `${from}..${to}`),
  label: ({ from, to }) => {
    if (from !== null && to === null && from.startsWith('-')) return `last ${spanOf(from)}`;
    if (to === null) return `after ${boundText(from ?? '')}`;
    if (from === to) return boundText(to);
    return from === null ? `before ${boundText(to)}` : `${boundText(from)} to ${boundText(to)}`;
  },
  send: ({ from, to }, { now }: Context) => {
    const at = (bound: string, side: 'from' | 'to') => new Date(resolveBound(bound, side, now)).toISOString();
    return { ...(from !== null && { from: at(from, 'from') }), ...(to !== null && { to: at(to, 'to') }) };
  },
};
