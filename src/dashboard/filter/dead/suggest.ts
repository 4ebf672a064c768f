import type { Rights } from '../../words/rights.ts';
import { DEAD_REASONS } from '../reasons.ts';
import { type Known, payloadSuggestions } from '../suggest.ts';
import { isOffered, type Suggestion } from '../suggestion.ts';
import { type DeadChip, formatDeadChip, parseDeadTerm } from './filter.ts';

type DeadSuggestion = Suggestion<DeadChip>;

const WORDS: readonly (readonly [word: string, hint: string])[] = [
  ['queue:', 'name of a queue'],
  ['reason:', 'why a job died'],
  ['error:', 'text of the last error'],
  ['code:', 'last answer, such as 500'],
  ['died:', 'time, such as >-2h'],
  ['replayed:', 'no, yes or any'],
  ['payload.', 'a path in the payload'],
];

const VALUES: Readonly<Record<string, readonly (readonly [value: string, hint: string])[]>> = {
  // So that a word such as `constructor` has no values.
  __proto__: null as never,
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

/**
 * The suggestions for a text, best first. `known.queues` are names that contain the text.
 * @param rights conditions that the person may not use are not offered
 */
export function deadSuggestions(text: string, known: Known, rights: Rights | null = null): DeadSuggestion[] {
  return all(text, known).filter((offer) => isOffered(offer, rights));
}

function all(text: string, known: Known): DeadSuggestion[] {
  const { queues } = known;
  const typed = text.trim();
  const [, word = '', rest = ''] = typed.match(/^([a-z]+):(.*)$/s) ?? [];
  const error = (word === 'error' ? rest : typed).replace(/^~/, '');
  if (word === 'queue') return queues.map(queueOffer);
  if (word === 'error') return error === '' ? [] : [errorOffer(error)];
  if (typed.startsWith('payload.') || (typed.includes(':') && VALUES[word] === undefined))
    return ofPayload(typed, known);
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
    ...{ id: `word ${name}`, group: 'Words', label: name, hint, isCode: true },
    does: { text: name },
  }));
  if (typed === '') return words;
  return [...words, ...queues.slice(0, 4).map(queueOffer), ...ofPayload(typed, known), errorOffer(error)];
}

/** Conditions on payloads are those of the filter of jobs. */
const ofPayload = (text: string, known: Known) => payloadSuggestions(text, known) as DeadSuggestion[];

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
