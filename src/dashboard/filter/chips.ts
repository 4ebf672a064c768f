import { visible } from '../words/format.ts';
import type { DeadReasonName, WaitName } from './reasons.ts';

/**
 * The filter of a list of jobs, as chips. The text in the box, the chips and the URL are one: `parseFilter` and
 * `formatFilter` turn each into the other. All chips must hold; of the values in one chip, one must.
 */

export const STATES = [
  ...(['due', 'scheduled', 'retrying', 'held'] as const),
  ...(['processing', 'awaiting-ack', 'completed', 'dead'] as const),
] as const;
export type StateName = (typeof STATES)[number];

export type Scalar = string | number | boolean | null;

export function isJsonScalar(text: string): boolean {
  return /^(true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)$/.test(text);
}

/** Comparisons of payload values, as they are written after the colon. */
export const PAYLOAD_OPS = { '': 'EQ', '!': 'NEQ', '~': 'CONTAINS', '>': 'GT', '<': 'LT', '*': 'EXISTS' } as const;
export type PayloadOp = (typeof PAYLOAD_OPS)[keyof typeof PAYLOAD_OPS];

/** `-2h` (before or after now), `2026-11-12`, or `2026-11-12T10:00Z`: as in the text. */
export type TimeBound = string;
export interface TimeRange {
  from: TimeBound | null;
  to: TimeBound | null;
}

export type TimeWord = 'created' | 'completed' | 'scheduled';

export type Chip =
  | { word: 'state'; values: readonly StateName[] }
  | { word: 'queue'; values: readonly string[] }
  /** `500`, `5xx`, or `0` for no answer: of the last attempt, or of any. */
  | { word: 'code'; values: readonly string[] }
  | { word: 'ever'; values: readonly string[] }
  | { word: 'reason'; values: readonly DeadReasonName[] }
  | { word: 'waits'; values: readonly WaitName[] }
  /** `text`: anywhere in the payload. */
  | { word: 'error' | 'text'; text: string }
  /** The key contains the text, or is the text. */
  | { word: 'key'; text: string; isExact?: true }
  | { word: 'attempts' | 'holds'; min: number | null; max: number | null }
  /** Jobs that a bulk action made or changed. */
  | { word: 'action'; id: string }
  | { word: TimeWord; range: TimeRange }
  /** With EQ, several values are "or". EXISTS has none, all others have one. */
  | { word: 'payload'; path: string; op: PayloadOp; values: readonly Scalar[] }
  /** Text that is no condition. It stays visible, and the list is not asked for, as it would show too much. */
  | { word: 'unknown'; text: string; problem: string };

export type Filter = readonly Chip[];

/** Words that take several values. A second chip of such a word adds its values to the first. */
type ListChip = Extract<Chip, { values: readonly unknown[] }>;

/** The filter with one more chip. One of the same word is replaced, or takes the new values. */
export function addChip(filter: Filter, chip: Chip): Filter {
  const index = filter.findIndex((other) => isSameSubject(other, chip));
  if (index < 0) return [...filter, chip];
  const old = filter[index];
  const next = old !== undefined && takesValues(old) && takesValues(chip) ? withValues(old, chip) : chip;
  return filter.map((other, n) => (n === index ? next : other));
}

function takesValues(chip: Chip): chip is ListChip {
  return 'values' in chip && (chip.word !== 'payload' || chip.op === 'EQ');
}

function withValues(old: ListChip, added: ListChip): Chip {
  return { ...old, values: [...new Set<unknown>([...old.values, ...added.values])] } as Chip;
}

function isSameSubject(a: Chip, b: Chip): boolean {
  if (a.word !== b.word || a.word === 'unknown') return false;
  if (a.word !== 'payload' || b.word !== 'payload') return true;
  return a.path === b.path && a.op === b.op && (a.op === 'EQ' || a.op === 'EXISTS');
}

export function removeChip(filter: Filter, index: number): Filter {
  return filter.filter((_chip, n) => n !== index);
}

/** Whether every chip is a condition that the server knows. */
export function isValid(filter: Filter): boolean {
  return filter.every(({ word }) => word !== 'unknown');
}

const OP_TEXT: Readonly<Record<PayloadOp, string>> = {
  EQ: '=',
  NEQ: '≠',
  CONTAINS: 'contains',
  GT: '>',
  LT: '<',
  EXISTS: 'is there',
};

const UNITS: Readonly<Record<string, string>> = { s: 's', m: 'min', h: 'h', d: 'd' };

/** The label of a chip: a key and a value. */
export function labelOfChip(chip: Chip): { key: string; value: string } {
  switch (chip.word) {
    case 'queue':
      return { key: chip.word, value: chip.values.join(', ') };
    case 'state':
    case 'code':
    case 'reason':
      return { key: chip.word, value: chip.values.join(', ').replaceAll('-', ' ') };
    case 'ever':
      return { key: 'ever answered', value: chip.values.join(', ') };
    case 'waits':
      return { key: 'waits for', value: chip.values.join(', ').replaceAll('-', ' ') };
    case 'text':
      return { key: 'payload', value: `contains “${visible(chip.text)}”` };
    case 'action':
      return { key: chip.word, value: `…${chip.id.slice(-5)}` };
    case 'error':
    case 'key':
      return { key: chip.word, value: `${'isExact' in chip ? 'is' : 'contains'} “${visible(chip.text)}”` };
    case 'attempts':
    case 'holds':
      return { key: chip.word, value: bounds(chip.min, chip.max) };
    case 'payload': {
      // The text "42" is not the number 42.
      const values = chip.values.map((value) =>
        typeof value === 'string' && !isJsonScalar(value) ? visible(value) : JSON.stringify(value),
      );
      return { key: visible(chip.path), value: `${OP_TEXT[chip.op]} ${values.join(' or ')}`.trim() };
    }
    case 'unknown':
      return { key: '', value: visible(chip.text) };
    default:
      return { key: chip.word, value: rangeText(chip.range) };
  }
}

function bounds(min: number | null, max: number | null): string {
  if (min === max) return String(min);
  if (max === null) return `≥ ${min}`;
  return min === null ? `≤ ${max}` : `${min} to ${max}`;
}

function rangeText({ from, to }: TimeRange): string {
  if (from !== null && to === null && from.startsWith('-')) return `last ${spanOf(from)}`;
  if (to === null) return `after ${boundText(from ?? '')}`;
  if (from === to) return boundText(to);
  return from === null ? `before ${boundText(to)}` : `${boundText(from)} to ${boundText(to)}`;
}

const boundText = (bound: TimeBound) => {
  if (bound.startsWith('-')) return `${spanOf(bound)} ago`;
  return bound.startsWith('+') ? `in ${spanOf(bound)}` : `${bound.replace('T', ' ').replace(/Z$/, '')} UTC`;
};

const spanOf = (bound: string) => `${bound.slice(1, -1)} ${UNITS[bound.slice(-1)] ?? ''}`;
