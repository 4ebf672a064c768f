import type { DeadReason } from '../../words/cause.ts';
import { visible } from '../../words/format.ts';
import { type Chip, labelOfChip, type TimeRange } from '../chips.ts';
import { formatChip } from '../format.ts';
import { type PayloadCondition, payloadConditions } from '../job-filter.ts';
import { parseTerm, termsOf } from '../parse.ts';
import { DEAD_REASONS } from '../reasons.ts';
import { resolveBound } from '../time-bound.ts';

/**
 * The filter of dead letters: text in the URL, chips on the page. It has words of the jobs' filter (`queue:`, `code:`,
 * `error:`) and words of its own. Without `replayed:` it means those that were not replayed, as they are what waits for
 * a person.
 */
export type DeadChip =
  | Extract<Chip, { word: 'queue' | 'code' | 'payload' | 'reason' | 'unknown' }>
  | { word: 'error'; text: string }
  /** First line of the receiver's answer, as the groups have it; empty for those without one. */
  | { word: 'answer'; text: string }
  | { word: 'replayed'; value: 'no' | 'yes' | 'any' }
  /** Fingerprints. */
  | { word: 'cause'; values: readonly string[] }
  | { word: 'died'; range: TimeRange };

export type DeadFilter = readonly DeadChip[];

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
    case 'cause':
      if (/^[0-9a-f]{16}(,[0-9a-f]{16})*$/.test(rest)) return { word, values: rest.split(',') };
      return unknown('A cause is 16 hexadecimal digits.');
    case 'died': {
      const chip = parseTerm(`created:${rest}`);
      return chip.word === 'created'
        ? { word, range: chip.range }
        : unknown('A time is such as >-2h or 2026-11-12..2026-11-13.');
    }
    case 'answer': {
      const text = rest === '""' ? '' : parseTerm(`error:${rest}`);
      if (typeof text === 'string') return { word, text };
      return text.word === 'error' ? { word, text: text.text } : unknown('The quotes are not closed.');
    }
    default: {
      const chip = parseTerm(term);
      if (chip.word === 'code') {
        if (chip.values.every((code) => /^\d{3}$/.test(code))) return chip;
        return unknown('A code of dead letters is such as 500 or 500,502.');
      }
      if (chip.word === 'error') return { word: 'error', text: chip.text };
      if (chip.word === 'queue' || chip.word === 'payload' || chip.word === 'reason') return chip;
      return unknown(chip.word === 'unknown' ? chip.problem : `Dead letters cannot be filtered by “${chip.word}”.`);
    }
  }
}

/** The filter with one more chip, in the place of another one of the same word; of payloads, of the same path too. */
export function addDeadChip(filter: DeadFilter, chip: DeadChip): DeadFilter {
  const subject = subjectOf(chip);
  const isThere = subject !== null && filter.some((other) => subjectOf(other) === subject);
  return isThere ? filter.map((other) => (subjectOf(other) === subject ? chip : other)) : [...filter, chip];
}

/** Two conditions on a path may both hold, such as a lower and an upper bound. */
function subjectOf(chip: DeadChip): string | null {
  if (chip.word === 'unknown') return null;
  return chip.word === 'payload' ? `payload ${chip.op} ${chip.path}` : chip.word;
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
    case 'cause':
      return `cause:${chip.values.join(',')}`;
    case 'answer':
      return chip.text === ''
        ? 'answer:""'
        : formatChip({ word: 'error', text: chip.text }).replace('error:~', 'answer:');
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
    case 'cause':
      return { key: chip.word, value: chip.values.map((value) => `…${value.slice(-5)}`).join(', ') };
    case 'answer':
      return { key: chip.word, value: chip.text === '' ? 'none' : `“${visible(chip.text)}”` };
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

/** Whether dead letters match that were not replayed. */
export const isReplayable = (filter: DeadFilter) =>
  !filter.some((chip) => chip.word === 'replayed' && chip.value === 'yes');

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
  answers?: string[];
  payload?: PayloadCondition;
  dead?: { from?: string; to?: string };
}

/** For the API. Relative times are as of `now`; `queueIds` are those of the names in the filter. */
export function toDeadLetterFilter(filter: DeadFilter, queueIds: readonly string[], now: number): DeadLetterFilter {
  const result: DeadLetterFilter = {};
  for (const chip of filter) {
    if (chip.word === 'replayed' && chip.value !== 'any') result.replayed = chip.value === 'yes';
    if (chip.word === 'queue') result.queueIds = [...queueIds];
    if (chip.word === 'reason') result.reasons = chip.values.map((name) => DEAD_REASONS[name]);
    if (chip.word === 'cause') result.fingerprints = [...chip.values];
    if (chip.word === 'code') result.webhookStatusCodes = chip.values.map(Number);
    if (chip.word === 'error') result.errorContains = chip.text;
    if (chip.word === 'answer') result.answers = [chip.text];
    if (chip.word === 'died') result.dead = rangeOf(chip.range, now);
  }
  const payload = payloadConditions(filter);
  if (payload !== null) result.payload = payload;
  return result;
}

function rangeOf({ from, to }: TimeRange, now: number): { from?: string; to?: string } {
  const iso = (bound: string, side: 'from' | 'to') => new Date(resolveBound(bound, side, now)).toISOString();
  return { ...(from !== null && { from: iso(from, 'from') }), ...(to !== null && { to: iso(to, 'to') }) };
}
