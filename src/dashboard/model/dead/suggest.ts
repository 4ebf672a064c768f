import { formatChip } from '../filter/format.ts';
import { DEAD_REASONS } from '../filter/reasons.ts';
import { completionOf, type Known, payloadSuggestions } from '../filter/suggest.ts';

/** An offer below the filter box: a condition, or a word that ends with its colon and wants a value. */
export interface DeadSuggestion {
  term: string;
  label: string;
  hint: string;
}

const WORDS: readonly DeadSuggestion[] = [
  { term: 'queue:', label: 'queue', hint: 'name of a queue' },
  { term: 'reason:', label: 'reason', hint: 'why a job died' },
  { term: 'error:', label: 'error', hint: 'text of the last error' },
  { term: 'code:', label: 'code', hint: 'last answer, such as 500' },
  { term: 'died:', label: 'died', hint: 'time, such as >-2h' },
  { term: 'replayed:', label: 'replayed', hint: 'no, yes or any' },
  { term: 'payload.', label: 'payload', hint: 'a path in the payload' },
];

const VALUES: Readonly<Record<string, readonly (readonly [value: string, hint: string])[]>> = {
  replayed: [
    ['no', 'wait for a person'],
    ['yes', 'were sent again'],
    ['any', 'all of them'],
  ],
  died: [
    ['>-15m', 'in the last 15 min'],
    ['>-2h', 'in the last 2 h'],
    ['>-1d', 'in the last day'],
  ],
  code: [
    ['500', ''],
    ['502', ''],
    ['503', ''],
    ['401', 'signature rejected'],
  ],
  reason: Object.keys(DEAD_REASONS).map((name) => [name, ''] as const),
};

/** What a text may become, best first. `known.queues` are names that contain the text. */
export function deadSuggestions(text: string, known: Known): readonly DeadSuggestion[] {
  const { queues } = known;
  const typed = text.trim();
  const [, word = '', rest = ''] = typed.match(/^([a-z]+):(.*)$/s) ?? [];
  if (word === 'queue') return queues.map((name) => queueTerm(name));
  if (word === 'error') {
    return rest.replace(/^~/, '') === '' ? [] : [errorTerm(rest.replace(/^~/, ''))];
  }
  if (typed.startsWith('payload.') || (typed.includes(':') && VALUES[word] === undefined))
    return ofPayload(typed, known);
  if (word !== '') {
    return (VALUES[word] ?? [])
      .filter(([value]) => value.includes(rest))
      .map(([value, hint]) => ({
        term: `${word}:${value}`,
        label: `${word} ${value.replaceAll('-', ' ').replace('> ', '> -')}`,
        hint,
      }));
  }
  const words = WORDS.filter(({ label }) => label.startsWith(typed.toLowerCase()));
  if (typed === '') return words;
  return [...words, ...queues.slice(0, 4).map(queueTerm), ...ofPayload(typed, known), errorTerm(typed)];
}

function ofPayload(text: string, known: Known): DeadSuggestion[] {
  return payloadSuggestions(text, known).flatMap((suggestion) => {
    const term = completionOf(suggestion);
    return term === null ? [] : [{ term, label: suggestion.label, hint: suggestion.hint }];
  });
}

const queueTerm = (name: string): DeadSuggestion => ({
  term: formatChip({ word: 'queue', values: [name] }),
  label: name,
  hint: 'queue',
});

const errorTerm = (text: string): DeadSuggestion => ({
  term: formatChip({ word: 'error', text }),
  label: `error contains “${text}”`,
  hint: 'error',
});
