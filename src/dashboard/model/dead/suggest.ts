import { formatChip } from '../filter/format.ts';
import { REASONS } from './filter.ts';

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
  reason: Object.keys(REASONS).map((name) => [name, ''] as const),
};

/** What a text may become, best first. `queues` are names that contain the text. */
export function deadSuggestions(text: string, queues: readonly string[]): readonly DeadSuggestion[] {
  const typed = text.trim();
  const [, word = '', rest = ''] = typed.match(/^([a-z]+):(.*)$/s) ?? [];
  if (word === 'queue') return queues.map((name) => queueTerm(name));
  if (word === 'error') {
    return rest.replace(/^~/, '') === '' ? [] : [errorTerm(rest.replace(/^~/, ''))];
  }
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
  return [...words, ...queues.slice(0, 4).map(queueTerm), errorTerm(typed)];
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
