import { isExactNumber } from './exact-number.ts';
import { hasWord, isFiller, isNoun, runsIn, withoutMarks } from './look-ups.ts';
import type { Scalar } from './payload.ts';
import { type Chip, rowOf, type Table } from './table.ts';
import { termsOf } from './text.ts';

/** Values of payloads in a text of people: which ones it has, in which paths they may be, and where they are. */

export interface KnownPath {
  value: string;
  count: number;
  /** All values at the path are numbers. */
  isNumber?: boolean | null;
}

/** Numbers of jobs with a value at a path, by the term of the condition. */
export type Counts = ReadonlyMap<string, { count: number; exact: boolean }>;

/** A value, and the word before it, such as `customer 42`. */
export interface Wanted {
  thing: string | null;
  value: string;
}

/** So many paths are counted for a value. */
export const MAX_CANDIDATES = 5;

/** An e-mail address, a UUID or a word with a digit is a value wherever it stands. */
const isValueByForm = (word: string) => /^[^\s:]+@[^\s:]+$/.test(word) || /^[^:]*\d[^:]*$/.test(word);

/** Whether a value is a single word that is one by its form. */
export const isWordByForm = (value: string) => termsOf(value).length === 1 && isValueByForm(value);

/** Words between a thing and its value, as in `order number A-7`. */
const LABELS = /^(#|№|ids?|no|nr|num|numbers?|names?|e?mails?)$/i;

/**
 * The thing and the value in words such as `customer 42` or `order number A-7`; without a thing in `id 42`.
 * Returns null for other words.
 */
export function pairIn(words: readonly string[]): Wanted | null {
  const [first = ''] = words;
  const isLabelled = LABELS.test(first);
  if (!isLabelled && !/^\p{L}[\p{L}\d_.-]*$/u.test(first)) return null;
  const at = words.findIndex((word, index) => index > 0 && !LABELS.test(word));
  if (at < 0) return null;
  return {
    thing: isLabelled ? null : first,
    value: words
      .slice(at)
      .join(' ')
      .replace(/^#(?=.)/, ''),
  };
}

/**
 * The value without the thing where no path is about the thing and may have the value, as in `user 42`; null if the
 * word before the value is then none that may be left out.
 */
export function asKnown(
  table: Table,
  { thing, value }: Wanted,
  { paths, queues }: { paths: readonly KnownPath[]; queues: readonly string[] },
): Wanted | null {
  if (thing === null || conditionsFor(table, { thing, value }, paths).length > 0) return { thing, value };
  return isNoun(table, thing, queues) ? { thing: null, value } : null;
}

/** Words without the punctuation behind them, and as they are if a full stop may be part of one: `Acme Inc.` */
export function readingsOf(table: Table, words: readonly string[]): string[][] {
  const plain = words.map((word) => withoutMarks(table, word));
  return words.some((word, at) => word !== plain[at] && word.endsWith('.')) ? [plain, [...words]] : [plain];
}

/** Text without punctuation behind its words. A single word with a colon or full stop may be the start of a path. */
export function plainText(table: Table, text: string): string {
  const words = termsOf(text).map((word) => withoutMarks(table, word));
  const [only = ''] = words;
  if (words.length > 1) return words.join(' ');
  return isValueByForm(only) ? only : text.replace(/(?<=.)[,?]+$/, '');
}

const wordsIn = (path: string) =>
  path
    .replaceAll(/([a-z\d])([A-Z])/g, '$1.$2')
    .toLowerCase()
    .split(/[._-]/)
    .map((word) => word.replace(/s$/, ''));

/** Whether a path is about a thing: `customer` is in `customer.id`, `customerId` and `customers.0.name`. */
const isAbout = (path: string, thing: string) => {
  const words = wordsIn(path);
  return wordsIn(thing).every((word) => words.includes(word) || words.includes(word.replace(/id$/, '')));
};

/** So many of the most frequent paths are searched for one that may have a value. */
export const MOST_PATHS = 40;

/** The most frequent paths, and of the others those that a word of the text is about. */
export function likelyPaths(text: string, paths: readonly KnownPath[]): readonly KnownPath[] {
  const all = text.match(/\p{L}[\p{L}\d_.-]*(?<!\.)/gu) ?? [];
  const words = all.filter((word) => !isFiller(word, []));
  return paths.filter(({ value }, at) => at < MOST_PATHS || words.some((word) => isAbout(value, word)));
}

/** A lower rank is more likely. */
function rankOf({ value: path, isNumber }: KnownPath, value: string): number {
  const last = wordsIn(path).at(-1) ?? '';
  const isOfForm = value.includes('@')
    ? /mail/.test(path.toLowerCase())
    : value.includes(' ')
      ? /^(name|title|label|subject)$/.test(last)
      : /^(id|uuid|number|no|nr|ref|reference|key|code)$/.test(last);
  // A number is rather at a path that has numbers only.
  return (isOfForm ? 0 : 2) + (isNumber === true ? 0 : 1);
}

/** Conditions that the value may mean, the most likely first. */
export function conditionsFor(table: Table, { thing, value }: Wanted, paths: readonly KnownPath[]): Chip[] {
  if (rowOf(table, 'payload') === undefined) return [];
  const scalar = scalarOf(value);
  // A number may be stored as text.
  const values = typeof scalar === 'number' ? [scalar, value] : [scalar ?? value];
  return paths
    .filter(({ isNumber }) => typeof scalar === 'number' || isNumber !== true)
    .filter(({ value: path }) => thing === null || isAbout(path, thing))
    .sort((a, b) => rankOf(a, value) - rankOf(b, value))
    .slice(0, MAX_CANDIDATES)
    .map(({ value: path }): Chip => ({ word: 'payload', value: { path, op: 'EQ', values } }));
}

/** Those that some job has come first, in their order, and those that none has last. */
export function byCounts(chips: readonly Chip[], termOf: (chip: Chip) => string, counts: Counts = new Map()): Chip[] {
  const isEmpty = (chip: Chip) => (counts.get(termOf(chip))?.count === 0 ? 1 : 0);
  return [...chips].sort((a, b) => isEmpty(a) - isEmpty(b));
}

/**
 * The values in a text, the most likely first: of a text that is one word, that word; else each word that is one by its
 * form, and each run of words that mean nothing else, with and without its first word as the thing that has the value;
 * and the whole text.
 */
export function wantedIn(
  table: Table,
  text: string,
  known: { paths: readonly KnownPath[]; queues: readonly string[] },
): Wanted[] {
  const all = termsOf(text);
  const words = all.filter((word) => !hasWord(table, word) && !word.startsWith('payload.'));
  const plain = words.map((word) => withoutMarks(table, word));
  if (words.length === 1) return wholesIn(table, words);
  const ofKnown = (pair: Wanted | null) => (pair === null ? null : asKnown(table, pair, known)) ?? [];
  const byForm = plain.flatMap((value, at): Wanted[] => {
    if (!isValueByForm(value)) return [];
    const before = plain.slice(0, at).findLast((word) => !LABELS.test(word) && !isFiller(word, known.queues));
    const alone = { thing: null, value: value.replace(/^#(?=.)/, '') };
    const pair = before === undefined || isValueByForm(before) ? null : pairIn([before, value]);
    return [ofKnown(pair), alone].flat();
  });
  const runs = runsIn(table, words, known.queues);
  const pairs = runs.flatMap((run) => readingsOf(table, run).flatMap((words) => ofKnown(pairIn(words))));
  const wholes = [
    ...runs.flatMap((run) => wholesIn(table, run)),
    ...(words.length === all.length ? wholesIn(table, all) : []),
  ];
  const ofThings = [...byForm, ...pairs].filter(({ thing }) => thing !== null);
  return [...ofThings, ...byForm, ...wholes, ...pairs];
}

/** Words as one value. */
export const wholesIn = (table: Table, words: readonly string[]): Wanted[] =>
  readingsOf(table, words).map((reading) => ({ thing: null, value: reading.join(' ') }));

/** Whether some job has a value where a condition searches for it; unknown conditions have no count. */
export const isFound = (term: string, counts: Counts | undefined) => (counts?.get(term)?.count ?? 0) > 0;

/** Objects and arrays are no values of a chip. */
export function scalarOf(json: string): Scalar | undefined {
  try {
    const value: unknown = JSON.parse(json);
    // A number that would become another one is not offered: the chip would find other jobs.
    if (typeof value === 'number' && !isExactNumber(json)) return undefined;
    return typeof value === 'object' && value !== null ? undefined : (value as Scalar);
  } catch {
    return undefined;
  }
}
