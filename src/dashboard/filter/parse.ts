import { isJobId } from '../words/job-id.ts';
import {
  addChip,
  type Chip,
  type Filter,
  isJsonScalar,
  PAYLOAD_OPS,
  type Scalar,
  STATES,
  type StateName,
  type TimeRange,
  type TimeWord,
} from './chips.ts';
import { isExactNumber } from './exact-number.ts';
import { DEAD_REASONS, WAITS } from './reasons.ts';
import { isTimeBound } from './time-bound.ts';

/** Reads the text of a filter. Whatever it cannot read becomes an `unknown` chip that says why. */
export function parseFilter(text: string): Filter {
  let filter: Filter = [];
  for (const term of termsOf(text)) filter = addChip(filter, parseTerm(term));
  return filter;
}

/** Cuts at spaces that are not within quotes. */
export function termsOf(text: string): string[] {
  return text.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? [];
}

export function parseTerm(term: string): Chip {
  try {
    return parse(term);
  } catch (error) {
    return { word: 'unknown', text: term, problem: error instanceof Unreadable ? error.message : 'No such condition.' };
  }
}

class Unreadable extends Error {}

function parse(term: string): Chip {
  const payload = term.match(/^payload\.("(?:[^"\\]|\\.)*"|[^\s":]+):(.*)$/s);
  if (payload !== null) return payloadChip(unquote(payload[1] ?? ''), payload[2] ?? '');
  const [, word = '', rest = ''] = term.match(/^([a-z]+):(.*)$/s) ?? [];
  switch (word) {
    case 'state':
      return { word, values: unique(valuesOf(rest).flatMap(statesOf)) };
    case 'queue':
      return { word, values: unique(valuesOf(rest)) };
    case 'code':
    case 'ever':
      return { word, values: unique(valuesOf(rest).map(codeOf)) };
    case 'reason':
      return { word, values: unique(valuesOf(rest).map((name) => nameIn(DEAD_REASONS, name, 'reason'))) };
    case 'waits':
      return { word, values: unique(valuesOf(rest).map((name) => nameIn(WAITS, name, 'wait'))) };
    case 'key':
      if (rest.startsWith('=')) return { word, text: textOf(rest.slice(1)), isExact: true };
      return { word, text: textOf(rest.replace(/^~/, '')) };
    case 'error':
    case 'text':
      return { word, text: textOf(rest.replace(/^~/, '')) };
    case 'attempts':
    case 'holds':
      return rangeChip(word, rest);
    case 'action':
      if (!isJobId(rest)) throw new Unreadable('An action has an id of 24 digits of 0-9 and a-f.');
      return { word, id: rest };
    case 'created':
    case 'completed':
    case 'scheduled':
      return timeChip(word, rest);
    default:
      throw new Unreadable(
        word === '' ? `“${term}” has no word before it, such as error: or key:` : `There is no word “${word}”.`,
      );
  }
}

const STATE_NAMES = new Map<string, readonly StateName[]>([
  ...STATES.map((state) => [state, [state]] as const),
  ['pending', ['due', 'scheduled', 'retrying', 'held']],
  ['ack', ['awaiting-ack']],
]);

function statesOf(name: string): readonly StateName[] {
  const states = STATE_NAMES.get(name.toLowerCase().replace('_', '-'));
  if (states === undefined) throw new Unreadable(`There is no state “${name}”.`);
  return states;
}

function codeOf(text: string): string {
  const code = text.toLowerCase();
  if (!/^([1-5]\d\d|[1-5]xx|0)$/.test(code)) throw new Unreadable('A code is such as 500, 5xx, or 0 for no answer.');
  return code;
}

function nameIn<Name extends string>(names: Readonly<Record<Name, string>>, text: string, what: string): Name {
  const name = text.toLowerCase() as Name;
  if (Object.hasOwn(names, name)) return name;
  throw new Unreadable(`There is no ${what} “${text}”. There is ${Object.keys(names).join(', ')}.`);
}

function rangeChip(word: 'attempts' | 'holds', text: string): Chip {
  const [, op = '', first = '', last] = text.match(/^(>=|<=|>|<|)(\d{1,4})(?:\.\.(\d{1,4}))?$/) ?? [];
  if (first === '') throw new Unreadable(`${word} are such as 3, >2 or 2..4.`);
  const value = Number(first);
  if (last !== undefined) {
    if (op !== '' || Number(last) < value) throw new Unreadable('A range is such as 2..4.');
    return { word, min: value, max: Number(last) };
  }
  if (op === '') return { word, min: value, max: value };
  if (op.startsWith('>')) return { word, min: op === '>' ? value + 1 : value, max: null };
  if (op === '<' && value === 0) throw new Unreadable(`No job has fewer than 0 ${word}.`);
  return { word, min: null, max: op === '<' ? value - 1 : value };
}

function timeChip(word: TimeWord, text: string): Chip {
  const [, op, single = ''] = text.match(/^([><])(.+)$/) ?? [];
  const range: TimeRange =
    op === undefined
      ? { from: text.split('..')[0] ?? '', to: text.split('..')[1] ?? text }
      : { from: op === '>' ? single : null, to: op === '<' ? single : null };
  if (text.split('..').length > 2 || [range.from, range.to].some((bound) => bound !== null && !isTimeBound(bound))) {
    throw new Unreadable('A time is such as >-2h, <2026-11-12 or 2026-11-12..2026-11-13.');
  }
  return { word, range };
}

function payloadChip(path: string, text: string): Chip {
  const [mark] = text.match(/^[!~><*]/) ?? [''];
  const op = PAYLOAD_OPS[mark as keyof typeof PAYLOAD_OPS];
  const rest = text.slice(mark.length);
  if (op === 'EXISTS') {
    if (rest !== '') throw new Unreadable('`*` asks whether the path is there, and takes no value.');
    return { word: 'payload', path, op, values: [] };
  }
  if (/^[{[]/.test(rest))
    throw new Unreadable('A value is a text, a number, true, false or null. In quotes it is a text.');
  const values = splitValues(rest).map(scalarOf);
  if (values.length === 0) throw new Unreadable('A value is missing.');
  if (op === 'EQ') return { word: 'payload', path, op, values: unique(values) };
  if (values.length > 1) throw new Unreadable('Only = takes several values.');
  return { word: 'payload', path, op, values };
}

function scalarOf(text: string): Scalar {
  if (!isJsonScalar(text)) return unquote(text);
  if (!isExactNumber(text)) throw new Unreadable('This number has more digits than a browser can send.');
  return JSON.parse(text) as Scalar;
}

function valuesOf(text: string): string[] {
  const values = splitValues(text).map(unquote);
  if (values.length === 0) throw new Unreadable('A value is missing.');
  return values;
}

function textOf(text: string): string {
  const value = unquote(text);
  if (value === '') throw new Unreadable('A text is missing.');
  return value;
}

/** Cuts at commas that are not within quotes. */
function splitValues(text: string): string[] {
  const unquoted = text.replace(/(^|,)"(?:[^"\\]|\\.)*"(?=,|$)/g, '');
  if (unquoted.includes('"')) throw new Unreadable('Quotes stand around a whole value.');
  return text.match(/"(?:[^"\\]|\\.)*"|[^,"]+/g) ?? [];
}

function unquote(text: string): string {
  if (!text.startsWith('"')) return text;
  try {
    return String(JSON.parse(text));
  } catch {
    throw new Unreadable('The quotes are not closed.');
  }
}

function unique<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)];
}
