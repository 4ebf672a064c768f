import { visible } from '../words/format.ts';
import { isJobId, shortId } from '../words/job-id.ts';
import { mayFilterBy, type Rights } from '../words/rights.ts';
import type { Chip, Scalar } from './chips.ts';
import { isExactNumber } from './exact-number.ts';
import { formatChip } from './format.ts';
import { parseTerm } from './parse.ts';
import { DEAD_REASONS, WAITS } from './reasons.ts';
import { isOffered, type Suggestion } from './suggestion.ts';

type JobSuggestion = Suggestion<Chip>;

/** Values that the server knows. They are empty while it is asked. */
export interface Known {
  queues: readonly string[];
  paths: readonly { value: string; count: number }[];
  /** JSON texts of values at the path that is typed. */
  values: readonly { value: string; count: number }[];
}

const WORDS: readonly (readonly [word: string, hint: string, examples: readonly string[]])[] = [
  [
    'state',
    'due, held, dead …',
    ['due', 'scheduled', 'retrying', 'held', 'processing', 'awaiting-ack', 'completed', 'dead'],
  ],
  ['queue', 'a name', []],
  ['code', '500, 5xx, 0 for no answer', ['5xx', '4xx', '500', '429', '401', '0']],
  ['error', 'contains a text', ['~timeout', '~connection_refused', '~HTTP']],
  ['key', 'idempotency key: ~part, =whole', []],
  ['created', 'when it was published; days are of UTC', ['>-15m', '>-1h', '>-4h', '>-1d', '>-3d']],
  ['attempts', '3, >2, 2..4', ['1', '>1', '>2']],
  ['ever', 'a code that any attempt got', ['5xx', '429', '500', '0']],
  ['reason', 'why it died', Object.keys(DEAD_REASONS)],
  ['waits', 'what it waits for', Object.keys(WAITS)],
  ['holds', 'how often it was held', ['>0', '>2']],
  ['completed', 'when it was completed; days are of UTC', ['>-1h', '>-1d']],
  ['scheduled', 'when the next delivery is due', ['<+1h', '>+1h']],
  ['text', 'anywhere in the payload', []],
  ['payload.', 'a path in the payload', []],
];

const MAX_OF_GROUP = 8;

/** The look-ups for a text: the start of a path, and the path whose values are wanted. */
export function lookUpsFor(
  text: string,
  rights: Rights | null = null,
): {
  path: string | null;
  valuesOf: string | null;
  value: string;
  queue: string | null;
} {
  const queue = text.match(/^queue:(?:.*,)?([^,]*)$/)?.[1] ?? null;
  const isWord = /^[a-z]+:/.test(text) && !text.startsWith('payload.');
  const [path = '', value] = text.replace(/^payload\./, '').split(':', 2);
  if (isWord || text === '' || !mayFilterBy(rights, 'payload')) return { path: null, valuesOf: null, value: '', queue };
  return { path, valuesOf: path === '' ? null : path, value: (value ?? '').replace(/^[!~><]/, ''), queue };
}

/** @param rights conditions that the person may not use are not offered */
export function suggestionsFor(text: string, known: Known, rights: Rights | null = null): JobSuggestion[] {
  if (isJobId(text)) return [{ ...base('job', 'Job', `Open job ${shortId(text)}`), does: { job: text } }];
  const [, word, rest] = text.match(/^([a-z]+):(.*)$/s) ?? [];
  if (word !== undefined && rest !== undefined) return mayFilterBy(rights, word) ? valuesOfWord(word, rest, known) : [];
  if (text.startsWith('payload.') || text.includes(':')) return payloadSuggestions(text, known);
  const offers = [...words(text), ...payloadSuggestions(text, known), ...anywhere(text, known)];
  return offers.filter((offer) => isOffered(offer, rights));
}

/** Paths that begin with the text, and values of the path that it is. */
export const payloadSuggestions = (text: string, known: Known): JobSuggestion[] => [
  ...paths(text, known),
  ...values(text, known),
];

const base = (id: string, group: string, label: string) => ({
  ...{ id, group, label: visible(label), hint: '', isCode: false },
});

function words(text: string): JobSuggestion[] {
  return WORDS.filter(([word]) => word.startsWith(text.toLowerCase())).map(([word, hint]) => ({
    ...base(`word ${word}`, 'Words', word.endsWith('.') ? word : `${word}:`),
    hint,
    isCode: true,
    does: { text: word.endsWith('.') ? word : `${word}:` },
  }));
}

/** Values of a word, after those that are typed already: `state:dead,` goes on with a second one. */
function valuesOfWord(word: string, rest: string, known: Known): JobSuggestion[] {
  const examples = word === 'queue' ? known.queues : (WORDS.find(([name]) => name === word)?.[2] ?? []);
  const comma = rest.lastIndexOf(',') + 1;
  const [before, typed] = [rest.slice(0, comma), rest.slice(comma)];
  return examples
    .filter((example) => example.startsWith(typed) || (word === 'queue' && example.includes(typed)))
    .slice(0, MAX_OF_GROUP)
    .flatMap((example) => {
      const term = `${word}:${before}${example}`;
      const chip = parseTerm(term);
      return chip.word === 'unknown'
        ? []
        : [{ ...base(term, `Values of ${word}`, term), isCode: true, does: { chip } }];
    });
}

function paths(text: string, known: Known): JobSuggestion[] {
  if (text.includes(':')) return [];
  const start = text.replace(/^payload\./, '');
  const begun = known.paths.filter(({ value }) => value.startsWith(start));
  return begun.slice(0, MAX_OF_GROUP).map(({ value, count }) => ({
    ...base(`path ${value}`, 'Paths in recent payloads', value),
    hint: `in ${count}`,
    isCode: true,
    does: { text: `payload.${value}:` },
  }));
}

function values(text: string, known: Known): JobSuggestion[] {
  const { valuesOf: path } = lookUpsFor(text);
  if (path === null) return [];
  return known.values.slice(0, MAX_OF_GROUP).flatMap(({ value, count }) => {
    const scalar = scalarOf(value);
    if (scalar === undefined) return [];
    const chip: Chip = { word: 'payload', path, op: 'EQ', values: [scalar] };
    return [
      {
        ...base(`value ${value}`, `Values of ${path}`, `${path} = ${value}`),
        hint: String(count),
        isCode: true,
        does: { chip },
      },
    ];
  });
}

/** Objects and arrays are no values of a chip. */
function scalarOf(json: string): Scalar | undefined {
  try {
    const value: unknown = JSON.parse(json);
    // A number that would become another one is not offered: the chip would find other jobs.
    if (typeof value === 'number' && !isExactNumber(json)) return undefined;
    return typeof value === 'object' && value !== null ? undefined : (value as Scalar);
  } catch {
    return undefined;
  }
}

/**
 * A bare word may be the value of a path, or stand anywhere in the payload, the error or the key. If no path begins with
 * it, what is known are the most frequent paths.
 */
function anywhere(text: string, known: Known): JobSuggestion[] {
  if (text === '') return [];
  const offer = (group: string, label: string, chip: Chip) => ({
    ...base(formatChip(chip), group, label),
    does: { chip },
  });
  const values = [scalarOf(text) ?? text];
  const isPath = known.paths.some(({ value }) => value.startsWith(text));
  return [
    ...(isPath ? [] : known.paths.slice(0, 5)).map(({ value: path }) =>
      offer('Value of a path in recent payloads', `${path} = ${text}`, { word: 'payload', path, op: 'EQ', values }),
    ),
    offer('Or', `payload contains “${text}”`, { word: 'text', text }),
    offer('Or', `error contains “${text}”`, { word: 'error', text }),
    offer('Or', `idempotency key contains “${text}”`, { word: 'key', text }),
  ];
}
