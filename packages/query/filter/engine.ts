import { meantBy } from '../../../src/domain/spelling.ts';
import { visible } from '../words/format.ts';
import { NO_SEARCH, type Rights } from '../words/rights.ts';
import { wordsOfPeople } from './look-ups.ts';
import type { PayloadCondition } from './payload.ts';
import { type Chip, type Context, type Fields, type Filter, mayUse, rowOf, type Table } from './table.ts';
import { termsOf, Unreadable } from './text.ts';

/** Reads, writes and changes the filters of any table. The text in the box, the chips and the address are one. */

const unknown = (text: string, problem: string) => ({ word: 'unknown', text, problem }) as const;

export function parseFilter<T extends Table>(table: T, text: string, now?: number): Filter<T> {
  const chips = termsOf(text).reduce<Filter<T>>((all, term) => addChip(table, all, parseTerm(table, term, now)), []);
  const defaults = Object.entries(table.words)
    .filter(([word, row]) => row.default !== undefined && chips.every((chip) => chip.word !== word))
    .map(([word, row]) => ({ word, value: row.default }) as Chip<T>);
  // They are shown, so that one sees them and can take them away.
  return [...defaults, ...chips];
}

/** A term that cannot be read becomes an `unknown` chip that says why. */
export function parseTerm<T extends Table>(table: T, term: string, now?: number): Chip<T> {
  const [, word = '', mark = '', rest = ''] = term.match(/^([a-z]+)([:.])(.*)$/s) ?? [];
  const row = rowOf(table, word);
  if (mark !== (row?.kind.mark ?? ':')) {
    if (row !== undefined && mark === ':')
      return unknown(term, 'A path begins with a dot, as in payload.customer.id:42.');
    if (mark === ':') return unknown(term, noWord(table, word));
    if (/^[-!][a-z]+[:.]/.test(term)) return unknown(term, 'A condition cannot be negated.');
    const meant = meantBy(term, wordsOfPeople(table));
    const did = meant === null ? '' : ` Did you mean ${meant}?`;
    return unknown(term, `“${term}” is not a condition. Write one such as error:timeout.${did}`);
  }
  if (row === undefined) {
    const isOther = table.others?.includes(word) === true;
    return unknown(term, isOther ? `${table.name} cannot be filtered by “${word}”.` : noWord(table, word));
  }
  try {
    return { word, value: row.kind.parse(rest, word, now) } as Chip<T>;
  } catch (error) {
    return unknown(term, error instanceof Unreadable ? error.message : 'No such condition.');
  }
}

function noWord(table: Table, word: string): string {
  const meant = meantBy(word, Object.keys(table.words));
  return `There is no filter “${word}”.${meant === null ? '' : ` Did you mean ${meant}:?`}`;
}

/** The text of a filter, as it stands in the address: `state:dead queue:orders payload.customer.id:42`. */
export function formatFilter<T extends Table>(table: T, filter: Filter<T>): string {
  return filter
    .filter((chip: Chip) => 'problem' in chip || chip.value !== rowOf(table, chip.word)?.default)
    .map((chip) => formatChip(table, chip))
    .join(' ');
}

export function formatChip(table: Table, chip: Chip): string {
  if ('problem' in chip) return chip.text;
  const kind = rowOf(table, chip.word)?.kind;
  return `${chip.word}${kind?.mark ?? ':'}${kind?.format(chip.value)}`;
}

/** The label of a chip: a name and a value. */
export function labelOf(table: Table, chip: Chip): { key: string; value: string } {
  const row = rowOf(table, chip.word);
  if ('problem' in chip || row === undefined) return { key: '', value: visible(formatChip(table, chip)) };
  return { key: row.kind.nameOf?.(chip.value) ?? row.name ?? chip.word, value: row.kind.label(chip.value) };
}

/** The chips that are shown: the value that is no condition has none. */
export function shownChips<T extends Table>(table: T, filter: Filter<T>): Filter<T> {
  return filter.filter((chip: Chip) => 'problem' in chip || chip.value !== rowOf(table, chip.word)?.none);
}

/** The filter with one more chip. A chip of the same word is replaced, or takes the new values. */
export function addChip<T extends Table>(table: T, filter: Filter<T>, chip: Chip<T>): Filter<T> {
  const [chips, added] = [filter as Filter, chip as Chip];
  if ('problem' in added) return [...filter, chip];
  const { join, isSame = () => true } = rowOf(table, added.word)?.kind ?? {};
  const at = chips.findIndex((old) => !('problem' in old) && old.word === added.word && isSame(old.value, added.value));
  const old = chips[at];
  if (old === undefined || 'problem' in old) return [...filter, chip];
  const value = join?.(old.value, added.value) ?? added.value;
  return chips.with(at, { word: added.word, value }) as Filter<T>;
}

/**
 * The filter with the chip in the place of those of the same word, also if it could join their values: a link narrows.
 */
export function setChip<T extends Table>(filter: Filter<T>, chip: Chip<T>): Filter<T> {
  const at = filter.findIndex(({ word }) => word === chip.word);
  return at === -1
    ? [...filter, chip]
    : filter.with(at, chip).filter((other, n) => n <= at || other.word !== chip.word);
}

/** The filter without the chip, or with the value that is no condition in place of a default. */
export function removeChip<T extends Table>(table: T, filter: Filter<T>, chip: Chip<T>): Filter<T> {
  const none = rowOf(table, chip.word)?.none;
  const rest = filter.filter((other) => other !== chip);
  return none === undefined ? rest : [{ word: chip.word, value: none } as Chip<T>, ...rest];
}

/** The first line of a list whose filter is not valid. */
export const INVALID_FILTER = 'A condition is invalid, so nothing was searched.';

/** Whether every chip is a condition that the server knows. */
export function isValid(filter: Filter): boolean {
  return filter.every((chip) => !('problem' in chip));
}

/** The filter with a chip that says so in place of each condition that the person may not use. */
export function permitted<T extends Table>(table: T, filter: Filter<T>, rights: Rights | null): Filter<T> {
  return filter.map((chip) => (mayUse(table, chip.word, rights) ? chip : unknown(formatChip(table, chip), NO_SEARCH)));
}

/** The filter for the API. Unknown chips have no effect: ask `isValid` before. */
export function toApi(table: Table, filter: Filter, context: Context): object {
  const parts = filter.flatMap((chip): { payload?: PayloadCondition }[] => {
    const row = rowOf(table, chip.word);
    if (row === undefined || 'problem' in chip) return [];
    if (typeof row.api !== 'string') return [row.api(chip.value, context)];
    return [{ [row.api]: row.kind.send?.(chip.value, context) ?? chip.value }];
  });
  const payload = parts.flatMap((part) => part.payload ?? []);
  return Object.assign({}, ...parts, payload.length > 1 && { payload: { and: payload } });
}

/**
 * The fields of a page as its address has them; null where there is no value that can be read, or used by the person.
 */
export function fieldsIn<T extends Table>(table: T, params: URLSearchParams, rights: Rights | null = null): Fields<T> {
  const read = (word: string) => {
    const chip: Chip = parseTerm(table, `${word}:${params.get(word) ?? ''}`);
    return 'problem' in chip || !mayUse(table, word, rights) ? null : chip.value;
  };
  return Object.fromEntries(Object.keys(table.words).map((word) => [word, read(word)])) as Fields<T>;
}

/** The filter that the fields of a page mean. */
export function chipsOf(fields: Readonly<Record<string, unknown>>): Filter {
  return Object.entries(fields).flatMap(([word, value]) => (value === null ? [] : [{ word, value }]));
}
