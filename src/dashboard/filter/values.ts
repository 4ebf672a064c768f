import { isExactNumber } from './exact-number.ts';
import { hasWord, runsIn } from './look-ups.ts';
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
interface Wanted {
  thing: string | null;
  value: string;
}

/** So many paths are counted for a value. */
export const MAX_CANDIDATES = 5;

/** An e-mail address, a UUID or a word with a digit is a value wherever it stands. */
export const isValueByForm = (word: string) => /^[^\s:]+@[^\s:]+$/.test(word) || /^[^:]*\d[^:]*$/.test(word);

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
 * @param queues names of queues, which are no values
 */
export function wantedIn(table: Table, text: string, queues: readonly string[] = []): Wanted[] {
  const all = termsOf(text);
  const words = all.filter((word) => !hasWord(table, word) && !word.startsWith('payload.'));
  const [only = ''] = words;
  if (words.length === 1) return [{ thing: null, value: only }];
  const isThing = (word: string | undefined): word is string =>
    word !== undefined && /^\p{L}[\p{L}\d_.-]*$/u.test(word) && !isValueByForm(word);
  const byForm = words.flatMap((value, at): Wanted[] => {
    if (!isValueByForm(value)) return [];
    const [before, word] = [words[at - 1], value.replace(/^#/, '')];
    return [...(isThing(before) ? [{ thing: before, value: word }] : []), { thing: null, value: word }];
  });
  const inRuns = runsIn(table, words, queues).flatMap((run): Wanted[] => {
    const [thing, ...rest] = run;
    const whole = { thing: null, value: run.join(' ') };
    return rest.length > 0 && isThing(thing) ? [{ thing, value: rest.join(' ') }, whole] : [whole];
  });
  const whole = words.length === all.length ? [{ thing: null, value: text.trim() }] : [];
  return [...byForm, ...inRuns, ...whole];
}

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
