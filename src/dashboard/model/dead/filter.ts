import type { DeadReason } from '../cause.ts';
import { type Chip, labelOfChip, type TimeRange } from '../filter/chips.ts';
import { formatChip } from '../filter/format.ts';
import { parseTerm, termsOf } from '../filter/parse.ts';
import { resolveBound } from '../filter/time-bound.ts';

/**
 * The filter of dead letters: text in the URL, chips on the page. It has words of the jobs' filter (`queue:`, `code:`,
 * `error:`) and words of its own. Without `replayed:` it means those that were not replayed, as they are what waits for
 * a person.
 */
export type DeadChip =
  | Extract<Chip, { word: 'queue' | 'code' | 'unknown' }>
  | { word: 'error'; text: string }
  | { word: 'replayed'; value: 'no' | 'yes' | 'any' }
  | { word: 'reason'; values: readonly DeadReason[] }
  /** Fingerprints. */
  | { word: 'cause'; values: readonly string[] }
  | { word: 'died'; range: TimeRange };

export type DeadFilter = readonly DeadChip[];

export const REASONS: Readonly<Record<string, DeadReason>> = {
  'attempts-exhausted': 'ATTEMPTS_EXHAUSTED',
  'ack-timeout': 'ACK_TIMEOUT',
  nacked: 'NACKED',
  'holds-exhausted': 'DEFER_CAP_EXHAUSTED',
  'asked-to-wait-too-long': 'RETRY_AFTER_EXCEEDS_LIFETIME',
  'lifetime-ended': 'DELIVERY_LIFETIME_EXCEEDED',
};

const nameOfReason = (reason: DeadReason) =>
  Object.entries(REASONS).find(([, value]) => value === reason)?.[0] ?? reason.toLowerCase().replaceAll('_', '-');

export function parseDeadFilter(text: string): DeadFilter {
  return withDefault(
    termsOf(text)
      .map(parseDeadTerm)
      .reduce(addDeadChip, [] as DeadFilter),
  );
}

/** The chip for "not replayed" is shown, so that one sees it and can take it away. */
function withDefault(filter: DeadFilter): DeadFilter {
  return filter.some(({ word }) => word === 'replayed') ? filter : [{ word: 'replayed', value: 'no' }, ...filter];
}

export function parseDeadTerm(term: string): DeadChip {
  const unknown = (problem: string): DeadChip => ({ word: 'unknown', text: term, problem });
  const [, word = '', rest = ''] = term.match(/^([a-z]+):(.+)$/s) ?? [];
  switch (word) {
    case 'replayed':
      if (rest === 'no' || rest === 'yes' || rest === 'any') return { word, value: rest };
      return unknown('It is replayed:no, replayed:yes or replayed:any.');
    case 'reason': {
      const values = rest
        .split(',')
        .map((name) => (Object.hasOwn(REASONS, name.toLowerCase()) ? REASONS[name.toLowerCase()] : undefined));
      if (values.some((value) => value === undefined))
        return unknown(`A reason is one of ${Object.keys(REASONS).join(', ')}.`);
      return { word, values: values as DeadReason[] };
    }
    case 'cause':
      if (/^[0-9a-f]{16}(,[0-9a-f]{16})*$/.test(rest)) return { word, values: rest.split(',') };
      return unknown('A cause is 16 hexadecimal digits.');
    case 'died': {
      const chip = parseTerm(`created:${rest}`);
      return chip.word === 'created'
        ? { word, range: chip.range }
        : unknown('A time is such as >-2h or 2026-11-12..2026-11-13.');
    }
    default: {
      const chip = parseTerm(term);
      if (chip.word === 'code') {
        if (chip.values.every((code) => /^\d{3}$/.test(code))) return chip;
        return unknown('A code of dead letters is such as 500 or 500,502.');
      }
      if (chip.word === 'error') return { word: 'error', text: chip.text };
      if (chip.word === 'queue') return chip;
      return unknown(chip.word === 'unknown' ? chip.problem : `Dead letters cannot be filtered by “${chip.word}”.`);
    }
  }
}

/** The filter with one more chip, in the place of another one of the same word. */
export function addDeadChip(filter: DeadFilter, chip: DeadChip): DeadFilter {
  if (chip.word === 'unknown') return [...filter, chip];
  const isThere = filter.some(({ word }) => word === chip.word);
  return isThere ? filter.map((other) => (other.word === chip.word ? chip : other)) : [...filter, chip];
}

/** The filter without the chip. Without "not replayed", all are shown. */
export function removeDeadChip(filter: DeadFilter, chip: DeadChip): DeadFilter {
  const rest = filter.filter((other) => other !== chip);
  return chip.word === 'replayed' ? [{ word: 'replayed', value: 'any' }, ...rest] : rest;
}

export function formatDeadFilter(filter: DeadFilter): string {
  return filter
    .filter((chip) => !(chip.word === 'replayed' && chip.value === 'no'))
    .map(formatDeadChip)
    .join(' ');
}

export function formatDeadChip(chip: DeadChip): string {
  switch (chip.word) {
    case 'replayed':
      return `replayed:${chip.value}`;
    case 'reason':
      return `reason:${chip.values.map(nameOfReason).join(',')}`;
    case 'cause':
      return `cause:${chip.values.join(',')}`;
    case 'died':
      return formatChip({ word: 'created', range: chip.range }).replace('created', 'died');
    default:
      return formatChip(chip);
  }
}

export function labelOfDeadChip(chip: DeadChip): { key: string; value: string } {
  switch (chip.word) {
    case 'replayed':
      return { key: chip.word, value: chip.value };
    case 'reason':
      return {
        key: chip.word,
        value: chip.values.map((reason) => nameOfReason(reason).replaceAll('-', ' ')).join(', '),
      };
    case 'cause':
      return { key: chip.word, value: chip.values.map((value) => `…${value.slice(-5)}`).join(', ') };
    case 'died':
      return { key: chip.word, value: labelOfChip({ word: 'created', range: chip.range }).value };
    default:
      return labelOfChip(chip);
  }
}

/** Chips that are shown: "any" is the absence of a condition. */
export const isShownChip = (chip: DeadChip) => !(chip.word === 'replayed' && chip.value === 'any');

export const isDefaultFilter = (filter: DeadFilter) => formatDeadFilter(filter) === '';
export const isValidDeadFilter = (filter: DeadFilter) => filter.every(({ word }) => word !== 'unknown');

/** Names that the API wants as ids. */
export function queueNamesOf(filter: DeadFilter): readonly string[] {
  return filter.flatMap((chip) => (chip.word === 'queue' ? chip.values : []));
}

/** The members of `DeadLetterFilter` of the schema that the dashboard uses. */
export interface DeadLetterFilter {
  replayed?: boolean;
  queueIds?: string[];
  reasons?: DeadReason[];
  fingerprints?: string[];
  webhookStatusCodes?: number[];
  errorContains?: string;
  dead?: { from?: string; to?: string };
}

/** For the API. Relative times are as of `now`; `queueIds` are those of the names in the filter. */
export function toDeadLetterFilter(filter: DeadFilter, queueIds: readonly string[], now: number): DeadLetterFilter {
  const result: DeadLetterFilter = {};
  for (const chip of filter) {
    if (chip.word === 'replayed' && chip.value !== 'any') result.replayed = chip.value === 'yes';
    if (chip.word === 'queue') result.queueIds = [...queueIds];
    if (chip.word === 'reason') result.reasons = [...chip.values];
    if (chip.word === 'cause') result.fingerprints = [...chip.values];
    if (chip.word === 'code') result.webhookStatusCodes = chip.values.map(Number);
    if (chip.word === 'error') result.errorContains = chip.text;
    if (chip.word === 'died') result.dead = rangeOf(chip.range, now);
  }
  return result;
}

function rangeOf({ from, to }: TimeRange, now: number): { from?: string; to?: string } {
  const iso = (bound: string, side: 'from' | 'to') => new Date(resolveBound(bound, side, now)).toISOString();
  return { ...(from !== null && { from: iso(from, 'from') }), ...(to !== null && { to: iso(to, 'to') }) };
}
