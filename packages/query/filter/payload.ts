import { visible } from '../words/format.ts';
import { isExactNumber } from './exact-number.ts';
import type { Kind } from './table.ts';
import { formatText, splitValues, Unreadable, unique, unquote } from './text.ts';

/** Conditions on payloads: `payload.customer.id:42`. */

export type Scalar = string | number | boolean | null;

/** Comparisons, as they are written after the colon, and as they are read. */
const OPS = {
  '': { op: 'EQ', label: '=' },
  '!': { op: 'NEQ', label: '≠' },
  '~': { op: 'CONTAINS', label: 'contains' },
  '>': { op: 'GT', label: '>' },
  '<': { op: 'LT', label: '<' },
  '*': { op: 'EXISTS', label: 'is there' },
} as const;
export type PayloadOp = (typeof OPS)[keyof typeof OPS]['op'];

/** With EQ, several values are "or". EXISTS has none, all others have one. */
interface PayloadTest {
  path: string;
  op: PayloadOp;
  values: readonly Scalar[];
}

/** The members of `PayloadConditionInput` that the dashboard uses. */
export interface PayloadCondition {
  path?: string;
  op?: PayloadOp;
  value?: Scalar;
  anywhere?: string;
  and?: PayloadCondition[];
  or?: PayloadCondition[];
}

export const PAYLOAD: Kind<PayloadTest> = {
  mark: '.',
  parse: (text) => {
    const [, path, rest = ''] = text.match(/^("(?:[^"\\]|\\.)*"|[^\s":]+):(.*)$/s) ?? [];
    if (path === undefined) throw new Unreadable('A path, a colon and a value are such as payload.customer.id:42.');
    return testOf(unquote(path), rest);
  },
  // A path with a space, a colon or a quote stands in quotes.
  format: ({ path, op, values }) =>
    `${/^[^\s":]+$/.test(path) ? path : JSON.stringify(path)}:${spelled(op)[0]}${values.map(formatScalar).join(',')}`,
  nameOf: ({ path }) => visible(path),
  label: ({ op, values }) => {
    // The text "42" is not the number 42.
    const texts = values.map((value) => (isPlain(value) ? visible(value) : JSON.stringify(value)));
    return `${spelled(op)[1].label} ${texts.join(' or ')}`.trim();
  },
  // Two conditions on a path may both hold, such as a lower and an upper bound.
  isSame: (one, other) => one.path === other.path && one.op === other.op && (one.op === 'EQ' || one.op === 'EXISTS'),
  join: (old, added) => ({ ...old, values: unique([...old.values, ...added.values]) }),
  send: ({ path, op, values }): PayloadCondition => {
    const each = values.map((value) => ({ path, op, value }));
    return each.length > 1 ? { or: each } : (each[0] ?? { path, op });
  },
};

function testOf(path: string, text: string): PayloadTest {
  const [mark] = text.match(/^[!~><*]/) ?? [''];
  const { op } = OPS[mark as keyof typeof OPS];
  const rest = text.slice(mark.length);
  if (op === 'EXISTS') {
    if (rest !== '') throw new Unreadable('`*` asks whether the path is there, and takes no value.');
    return { path, op, values: [] };
  }
  if (/^[{[]/.test(rest))
    throw new Unreadable('A value is a text, a number, true, false or null. In quotes it is a text.');
  const values = splitValues(rest).map(scalarOf);
  if (op !== 'EQ' && values.length > 1) throw new Unreadable('Only = takes several values.');
  return { path, op, values: unique(values) };
}

const spelled = (op: PayloadOp) => Object.entries(OPS).find(([, one]) => one.op === op) ?? (['', OPS['']] as const);

/** Bare numbers, `true`, `false` and `null` are JSON, so text that looks like them is quoted. */
const isJsonScalar = (text: string) => /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(text);
const isPlain = (value: Scalar): value is string => typeof value === 'string' && !isJsonScalar(value);
const formatScalar = (value: Scalar) => (isPlain(value) ? formatText(value) : JSON.stringify(value));

function scalarOf(text: string): Scalar {
  if (!isJsonScalar(text)) return unquote(text);
  if (!isExactNumber(text)) throw new Unreadable('This number has more digits than a browser can send.');
  return JSON.parse(text) as Scalar;
}
