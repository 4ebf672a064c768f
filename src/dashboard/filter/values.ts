import { isExactNumber } from './exact-number.ts';
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

/** So many paths are counted for a text. */
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
  // A number is rather at a path that has numbers only.
  const own = isNumber === true ? 0 : 2;
  const last = wordsIn(path).at(-1) ?? '';
  if (value.includes('@')) return own + (/mail/.test(path.toLowerCase()) ? 0 : 1);
  return own + (/^(id|uuid|number|no|nr|ref|reference|key|code)$/.test(last) ? 0 : 1);
}

/** Conditions that the value may mean, the most likely first. */
export function conditionsFor(table: Table, { thing, value }: Wanted, paths: readonly KnownPath[]): Chip[] {
  if (rowOf(table, 'payload') === undefined) return [];
  const scalar = scalarOf(value);
  // A number may be stored as text.
  const values = thing !== null && typeof scalar === 'number' ? [scalar, value] : [scalar ?? value];
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

/** The values in a text: of a text that is one word, that word; else each word that is one by its form, and the pairs of a thing and its value. */
export function wantedIn(text: string): Wanted[] {
  const words = termsOf(text).filter((word) => !/^[a-z]+:|^payload\./.test(word));
  const [only = ''] = words;
  if (words.length === 1) return [{ thing: null, value: only }];
  return words.flatMap((value, at): Wanted[] => {
    const before = words[at - 1];
    const thing =
      before !== undefined && /^\p{L}[\p{L}\d_.-]*$/u.test(before) && !isValueByForm(before) ? before : null;
    const word = value.replace(/^#/, '');
    const pair = thing === null ? [] : [{ thing, value: word }];
    return isValueByForm(value) ? [...pair, { thing: null, value: word }] : pair;
  });
}

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
