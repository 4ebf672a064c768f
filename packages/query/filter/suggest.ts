import { meantBy } from '../../../src/domain/spelling.ts';
import { count, visible } from '../words/format.ts';
import { isJobId, shortId } from '../words/job-id.ts';
import type { Rights } from '../words/rights.ts';
import { formatChip, labelOf, parseTerm } from './engine.ts';
import { hasWord, lookUpsFor, wordOf, wordsOfPeople } from './look-ups.ts';
import { codeIn, meaningsOf, timeIn } from './meanings.ts';
import { LEAST_MISSPELT } from './queue-search.ts';
import { type Chip, mayUse, rowOf, type Table } from './table.ts';
import { formatText, termsOf } from './text.ts';
import {
  asKnown,
  byCounts,
  type Counts,
  conditionsFor,
  isFound,
  isWordByForm,
  type KnownPath,
  pairIn,
  plainText,
  scalarOf,
  type Wanted,
} from './values.ts';

/** An offer of a filter box for the text in it. */
interface Suggestion<C extends Chip = Chip> {
  id: string;
  group: string;
  /** The part of the label that is already typed is marked by the box. */
  label: string;
  hint: string;
  isCode: boolean;
  /** Enter adds conditions, continues the text, or opens a job. */
  does: { chips: readonly C[] } | { text: string } | { job: string };
}

/** Values that the server knows. They are empty while it is queried. */
export interface Known {
  queues: readonly string[];
  /** Tags of queues. */
  tags?: readonly string[];
  /** Hosts that queues deliver to. */
  hosts?: readonly string[];
  paths: readonly KnownPath[];
  /** Jobs with the values of the text, by condition. */
  counts?: Counts | undefined;
  /** JSON texts of values at the path that is typed. */
  values: readonly { value: string; count: number }[];
}

const MAX_OF_GROUP = 8;
const MAX_QUEUES = 4;

/**
 * The offers for a text, best first.
 * @param options `rights`: conditions that the person may not use are not offered; `now`: for times in words
 */
export function suggestionsFor<T extends Table>(
  table: T,
  text: string,
  known: Known,
  { rights = null, now }: { rights?: Rights | null; now: number },
): Suggestion<Chip<T>>[] {
  const isOffered = ({ does }: Suggestion) => {
    if ('job' in does) return true;
    const words = 'chips' in does ? does.chips.map(({ word }) => word) : [does.text.replace(/\W.*$/s, '')];
    return words.every((word) => mayUse(table, word, rights));
  };
  const all = offersFor(table, text.trim(), known, now).filter(isOffered);
  // A value is offered last where no job has it: after the offer that searches whole payloads.
  const offers = [...all.filter(({ hint }) => hint !== NO_JOB), ...all.filter(({ hint }) => hint === NO_JOB)];
  return offers.filter(({ id }, at) => offers.findIndex((one) => one.id === id) === at) as Suggestion<Chip<T>>[];
}

function offersFor(table: Table, text: string, known: Known, now: number): Suggestion[] {
  if (isJobId(text)) return [{ ...base('job', 'Job', `Open job ${shortId(text)}`), does: { job: text } }];
  const [, word, rest = ''] = (hasWord(table, text) && text.match(/^([a-z]+):(.*)$/s)) || [];
  // The rest of a condition on text is more of the text.
  const phrases = table.bare?.[word ?? ''] ? [] : phraseOffers(table, text, known, now);
  if (word !== undefined) {
    const values = valuesOfWord(table, word, rest, known);
    const others = contains(table, word, /^[="]/.test(rest) ? '' : rest);
    return [...phrases, ...values, ...others.filter(({ id }) => values.every((value) => value.id !== id))];
  }
  const plain = plainText(table, text);
  const lower = plain.toLowerCase();
  const inWords =
    text === ''
      ? []
      : [
          ...phrases,
          ...queueOffers(table, known, (name) => name === plain),
          ...codeOffers(table, plain),
          ...termOffers(table, (word) => word === lower),
          ...words(table, text),
          ...errorOffers(table, text),
          ...termOffers(table, (word) => lower.length > 2 && word.startsWith(lower)),
          ...timeOffers(table, plain, now),
          ...thingOffers(table, plain, known),
        ];
  if (inWords.length === 0 && !known.queues.some((name) => name.startsWith(text)))
    inWords.push(...meantOffers(table, lower, known));
  if (text.startsWith('payload.') || (text.includes(':') && inWords.length === 0))
    return [...phrases, ...payloadOffers(table, text, known), ...valuesOfPaths(table, text, known)];
  if (text === '') return words(table, '');
  return [
    ...inWords,
    ...queueOffers(table, known, (name) => name.startsWith(text)),
    ...Object.keys(table.bare ?? {}).flatMap((one) => bareOffers(table, one, text, known)),
  ];
}

const base = (id: string, group: string, label: string) => ({
  id,
  group,
  label: visible(label),
  hint: '',
  isCode: false,
});

const chipOffer = (table: Table, group: string, chip: Chip, label?: string): Suggestion => {
  const term = formatChip(table, chip);
  return { ...base(term, group, label ?? term), isCode: label === undefined, does: { chips: [chip] } };
};

function words({ words }: Table, text: string): Suggestion[] {
  return Object.entries(words).flatMap(([name, { kind, hint }]) => {
    const word = `${name}${kind.mark ?? ':'}`;
    if (hint === undefined || !word.startsWith(text.toLowerCase())) return [];
    return [{ ...base(`word ${name}`, 'Words', word), hint, isCode: true, does: { text: word } }];
  });
}

/** Values of a word, after those that are typed already: `state:dead,` goes on with a second one. */
function valuesOfWord(table: Table, word: string, rest: string, known: Known): Suggestion[] {
  const named = { queue: known.queues.map(formatText), receiver: known.hosts?.map(formatText), tag: known.tags };
  const examples =
    (Object.hasOwn(named, word) ? named[word as keyof typeof named] : rowOf(table, word)?.examples) ?? [];
  const comma = rest.lastIndexOf(',') + 1;
  const [before, typed] = [rest.slice(0, comma), rest.slice(comma)];
  const all = examples.map((one) => (typeof one === 'string' ? ([one, ''] as const) : one));
  const begun = all.filter(([value]) => value.startsWith(typed));
  return [...begun, ...all.filter((one) => one[0].includes(typed) && !begun.includes(one))]
    .slice(0, MAX_OF_GROUP)
    .flatMap(([value, hint]) => {
      const chip: Chip = parseTerm(table, `${word}:${before}${value}`);
      return 'problem' in chip ? [] : [{ ...chipOffer(table, `Values of ${word}`, chip), hint }];
    });
}

/** The condition that a text contains another one. */
function contains(table: Table, word: string, text: string): Suggestion[] {
  const name = table.bare?.[word];
  const part = text.replace(/^~/, '');
  if (!name || part === '') return [];
  const chip: Chip = parseTerm(table, `${word}:~${JSON.stringify(part)}`);
  return [chipOffer(table, 'Or', chip, `${name} contains “${part}”`)];
}

/** Text without a word may be a queue, a path, the value of a path, or a part of a text. */
function bareOffers(table: Table, word: string, text: string, known: Known): Suggestion[] {
  if (word === 'payload') return [...payloadOffers(table, text, known), ...valuesOfPaths(table, text, known)];
  if (word !== 'queue') return contains(table, word, text);
  return queueOffers(table, known, (name) => name.includes(text));
}

function queueOffers(table: Table, { queues }: Known, isWanted: (name: string) => boolean): Suggestion[] {
  if (table.bare?.queue === undefined) return [];
  return queues
    .filter(isWanted)
    .slice(0, MAX_QUEUES)
    .map((name) => chipOffer(table, 'Queues', { word: 'queue', value: [name] }));
}

/** A code of an answer that failed. */
function codeOffers(table: Table, text: string): Suggestion[] {
  const chip = codeIn(table, text);
  return chip === null ? [] : [chipOffer(table, 'Code of the answer', chip)];
}

/** The names of errors. The text of an answer has others, which are found by "contains". */
const ERRORS =
  'timeout connection_refused dns_error tls_error address_not_allowed reset invalid_response network_error';

function errorOffers(table: Table, text: string): Suggestion[] {
  const start = text.toLowerCase().replace(/\s/g, '_');
  return ERRORS.split(' ')
    .filter((name) => start.length > 2 && name.startsWith(start))
    .map((name) => chipOffer(table, 'Error', parseTerm(table, `error:~${name}`)));
}

function phraseOffers(table: Table, text: string, known: Known, now: number): Suggestion[] {
  const all = meaningsOf(table, text, known, now);
  const isWhole = all[0]?.words.join(' ') === text;
  if (isWhole || all.some(({ chips }) => chips.length === 0)) return [];
  const chips = all.flatMap((one) => one.chips);
  const terms = chips.map((chip) => formatChip(table, chip)).join(' ');
  return [{ ...base(terms, 'All of these', terms), isCode: true, does: { chips } }];
}

/** Words that a filter does not have, such as `failed`. */
function termOffers(table: Table, isWanted: (word: string) => boolean) {
  return Object.entries(table.terms ?? {})
    .filter(([name]) => isWanted(wordOf(name)))
    .map(([name, term]) => {
      const chips = termsOf(term).map((one): Chip => parseTerm(table, one));
      return { ...base(term, 'In other words', name), hint: term, does: { chips } };
    });
}

/** The word of people or the queue that a misspelt one was meant for. */
function meantOffers(table: Table, word: string, known: Known): Suggestion[] {
  const meant = word.length < LEAST_MISSPELT ? null : meantBy(word, [...wordsOfPeople(table), ...known.queues]);
  const isMeant = (one: string) => one === meant;
  return [...termOffers(table, isMeant), ...queueOffers(table, known, isMeant)].map((offer) => ({
    ...offer,
    hint: 'did you mean this?',
  }));
}

function timeOffers(table: Table, text: string, now: number): Suggestion[] {
  const chip = timeIn(table, text, now);
  if (chip === null) return [];
  const { key, value } = labelOf(table, chip);
  return [{ ...chipOffer(table, 'Time', chip, text), hint: `${key} ${value}` }];
}

function thingOffers(table: Table, text: string, known: Known): Suggestion[] {
  const pair = pairIn(termsOf(text));
  const wanted = pair === null ? null : asKnown(table, pair, known);
  if (wanted === null) return [];
  const isValue = isWordByForm(wanted.value);
  const all = valueOffers(table, wanted, known);
  const isNowhere = isValue && all.length > 0 && all.every(({ hint }) => hint === NO_JOB);
  const inText = isNowhere ? contains(table, 'text', wanted.value) : [];
  if (wanted.thing !== null) return [...all, ...inText];
  // Without the thing, all paths would be offered for any two words.
  return [...all.filter(({ hint }) => (hint === '' ? isValue : hint !== NO_JOB)), ...inText];
}

const NO_JOB = 'no job';

/** Paths that may have the value, each with the number of jobs that have it there. */
function valueOffers(table: Table, wanted: Wanted, { paths, counts }: Known): Suggestion[] {
  const termOf = (chip: Chip) => formatChip(table, chip);
  // Several words may be several things, and a colon may follow a misspelt word: they are a value where a job has it.
  const isSure = !/[\s:]/.test(wanted.value);
  const chips = conditionsFor(table, wanted, paths).filter((chip) => isSure || isFound(termOf(chip), counts));
  return byCounts(chips, termOf, counts).map((chip) => {
    const { key } = labelOf(table, chip);
    const found = counts?.get(termOf(chip));
    const hint =
      found === undefined
        ? ''
        : found.count === 0
          ? NO_JOB
          : `${count(found.count, found.exact)} ${found.count === 1 ? 'job' : 'jobs'}`;
    const offer = chipOffer(table, 'Value of a path in recent payloads', chip, `${key} = ${wanted.value}`);
    return { ...offer, hint };
  });
}

/** Paths that begin with the text, and values of the path that it is. */
function payloadOffers(table: Table, text: string, known: Known): Suggestion[] {
  const start = text.replace(/^payload\./, '');
  const begun = text.includes(':') ? [] : known.paths.filter(({ value }) => value.startsWith(start));
  const { valuesOf: path } = lookUpsFor(table, text);
  return [
    ...begun.slice(0, MAX_OF_GROUP).map(({ value, count: n }) => ({
      ...base(`path ${value}`, 'Paths in recent payloads', value),
      hint: `in ${n} payloads`,
      isCode: true,
      does: { text: `payload.${value}:` },
    })),
    ...(path === null ? [] : known.values).slice(0, MAX_OF_GROUP).flatMap(({ value, count: n }) => {
      const scalar = scalarOf(value);
      if (scalar === undefined) return [];
      const chip = { word: 'payload', value: { path, op: 'EQ', values: [scalar] } };
      return [
        {
          ...base(`value ${value}`, `Values of ${path}`, `${path} = ${value}`),
          hint: String(n),
          isCode: true,
          does: { chips: [chip] },
        },
      ];
    }),
  ];
}

/** If no path begins with the text, the known paths are the most frequent ones. */
function valuesOfPaths(table: Table, text: string, known: Known): Suggestion[] {
  if (table.bareIsValue !== true || known.paths.some(({ value }) => value.startsWith(text))) return [];
  return valueOffers(table, { thing: null, value: plainText(table, text) }, known);
}

/** The text that Tab puts into the box; null if there is none. */
export function completionOf(table: Table, offer: Suggestion | undefined): string | null {
  if (offer === undefined || 'job' in offer.does) return null;
  return 'text' in offer.does ? offer.does.text : offer.does.chips.map((chip) => formatChip(table, chip)).join(' ');
}
