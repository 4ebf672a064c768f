import type { Rights } from '../words/rights.ts';

/**
 * A filter is a list of chips; all must hold. A table has the words of one list:
 * jobs, dead letters, attempts, activity.
 */

/** A kind of values: how they stand in text, on a chip and in the API. */
export interface Kind<Value> {
  /** The character after the word, if it is not a colon. */
  mark?: '.';
  /** Reads the text after the word; `now` is for times in words. Throws `Unreadable`. */
  parse: (text: string, word: string, now?: number) => Value;
  format: (value: Value) => string;
  label: (value: Value) => string;
  /** The name on the chip, if it depends on the value. */
  nameOf?: (value: Value) => string;
  /** Joins two values, where one chip may have several. */
  join?: (old: Value, added: Value) => Value;
  /** False if both may stand in one filter. */
  isSame?: (one: Value, other: Value) => boolean;
  /** The value in the API, if it is another one. */
  send?: (value: Value, context: Context) => unknown;
}

/** The moment to which relative times refer, and the ids of the queues that the filter names. */
export interface Context {
  now: number;
  queueIds?: readonly string[];
}

interface Row<Value> {
  kind: Kind<Value>;
  /** The member of the API's filter; a function if that depends on the value. */
  api: string | ((value: Value, context: Context) => object);
  /** The name on the chip, if it is not the word. */
  name?: string;
  /** The condition is about payloads, or about texts of receivers, which need the right to see payloads. */
  needsPayloads?: true;
  /** Offered with this hint; a row without one is used by links only. */
  hint?: string;
  /** Values that are offered, each perhaps with a hint. */
  examples?: readonly (string | readonly [value: string, hint: string])[];
  /** Holds without a chip in the address. */
  default?: Value;
  /** The value that is no condition: its chip is not shown. */
  none?: Value;
}

// biome-ignore lint/suspicious/noExplicitAny: values of any kind
type AnyRow = Row<any>;

export interface Table {
  /** Such as "Jobs", to say what cannot be filtered by a word. */
  name: string;
  words: Readonly<Record<string, AnyRow>>;
  /** Words of other tables, which are not called unknown. */
  others?: readonly string[];
  /** Words that are offered for text without a word, each with the name that the offer has; of queues, the queues. */
  bare?: Readonly<Record<string, string>>;
  /** Text without a word is offered as the value of a path in recent payloads too. */
  bareIsValue?: true;
  /**
   * Words of people, each with the conditions that it means. After a colon, a word says what is offered; it may stand
   * here several times.
   */
  terms?: Readonly<Record<string, string>>;
  /** The word that a time in words is about, such as `yesterday`. */
  time?: string;
  placeholder?: (isEmpty: boolean, seesPayloads: boolean) => string;
}

/** Text that is no condition. It stays visible, and the list is not queried, as it would show too much. */
interface UnknownChip {
  word: 'unknown';
  text: string;
  problem: string;
}

type ValueOf<R extends AnyRow> = ReturnType<R['kind']['parse']>;
type Condition<Words extends Table['words']> = {
  [Word in keyof Words & string]: { word: Word; value: ValueOf<Words[Word]> };
};

export type Chip<T extends Table = Table> = Condition<T['words']>[keyof T['words'] & string] | UnknownChip;
export type Filter<T extends Table = Table> = readonly Chip<T>[];
/** The filter of a page that has a field for each word. */
export type Fields<T extends Table> = { [Word in keyof T['words']]: ValueOf<T['words'][Word]> | null };

export function rowOf({ words }: Table, word: string): AnyRow | undefined {
  return Object.hasOwn(words, word) ? words[word] : undefined;
}

/** Whether the person may filter by a word, as far as it needs a right. The server would refuse it. */
export function mayUse(table: Table, word: string, rights: Rights | null): boolean {
  return rowOf(table, word)?.needsPayloads !== true || rights?.mayViewPayloads !== false;
}
