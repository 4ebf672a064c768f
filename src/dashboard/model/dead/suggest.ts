import type { Suggestion } from '../filter/suggestion.ts';
import { type DeadChip, formatDeadChip, parseDeadTerm, REASONS } from './filter.ts';

type DeadSuggestion = Suggestion<DeadChip>;

const WORDS: readonly (readonly [word: string, hint: string])[] = [
  ['queue', 'name of a queue'],
  ['reason', 'why a job died'],
  ['error', 'text of the last error'],
  ['code', 'last answer, such as 500'],
  ['died', 'time, such as >-2h'],
  ['replayed', 'no, yes or any'],
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
export function deadSuggestions(text: string, queues: readonly string[]): DeadSuggestion[] {
  const typed = text.trim();
  const [, word = '', rest = ''] = typed.match(/^([a-z]+):(.*)$/s) ?? [];
  const error = (word === 'error' ? rest : typed).replace(/^~/, '');
  if (word === 'queue') return queues.map(queueOffer);
  if (word === 'error') return error === '' ? [] : [errorOffer(error)];
  if (word !== '') {
    return (VALUES[word] ?? [])
      .filter(([value]) => value.includes(rest))
      .map(([value, hint]) => ({
        ...chipOffer(`Values of ${word}`, parseDeadTerm(`${word}:${value}`)),
        label: `${word} ${value.replaceAll('-', ' ').replace('> ', '> -')}`,
        hint,
      }));
  }
  const words = WORDS.filter(([name]) => name.startsWith(typed.toLowerCase())).map(([name, hint]) => ({
    ...{ id: `word ${name}`, group: 'Words', label: `${name}:`, hint, isCode: true },
    does: { text: `${name}:` },
  }));
  return typed === '' ? words : [...words, ...queues.slice(0, 4).map(queueOffer), errorOffer(error)];
}

function chipOffer(group: string, chip: DeadChip) {
  const term = formatDeadChip(chip);
  return { id: term, group, label: term, hint: '', isCode: false, does: { chip } };
}

const queueOffer = (name: string): DeadSuggestion => ({
  ...chipOffer('Queues', { word: 'queue', values: [name] }),
  label: name,
});

const errorOffer = (text: string): DeadSuggestion => ({
  ...chipOffer('Or', { word: 'error', text }),
  label: `error contains “${text}”`,
});
