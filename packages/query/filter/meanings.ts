import { formatChip, parseTerm } from './engine.ts';
import { isFiller, isNoun, MAX_WORDS, termFor, withoutMarks } from './look-ups.ts';
import { type Chip, rowOf, type Table } from './table.ts';
import { termsOf } from './text.ts';
import { timeInWords } from './time-in-words.ts';
import {
  asKnown,
  byCounts,
  type Counts,
  conditionsFor,
  isFound,
  isWordByForm,
  type KnownPath,
  pairIn,
  readingsOf,
  type Wanted,
  wholesIn,
} from './values.ts';

/** The conditions of a text in natural language: the box offers them, and the command line takes them. */

/** The look-ups that the meaning of a text depends on. */
interface Known {
  queues: readonly string[];
  paths: readonly KnownPath[];
  counts?: Counts | undefined;
}

/**
 * The conditions of words of people one after the other, such as `failed yesterday customer 42`;
 * none for a word that is not understood.
 */
export function meaningsOf(table: Table, text: string, known: Known, now: number) {
  const terms = termsOf(text);
  const all: { words: readonly string[]; chips: readonly Chip[] }[] = [];
  const whole = terms.length > 1 ? foundAs(table, wholesIn(table, terms), known) : [];
  if (whole.length > 0) return [{ words: terms, chips: whole }];
  const rest = withoutFillers(table, terms, known);
  while (rest.length > 0) {
    let length = Math.min(rest.length, 2 * MAX_WORDS);
    let chips = conditionsOf(table, rest.slice(0, length), known, now);
    while (chips.length === 0 && length > 1) {
      length -= 1;
      chips = conditionsOf(table, rest.slice(0, length), known, now);
    }
    all.push({ words: rest.splice(0, length), chips });
  }
  return all;
}

/** Leaves out fillers, and nouns such as `orders` in `orders of customer 42`: all jobs may be orders. */
function withoutFillers(table: Table, terms: readonly string[], { queues }: Known): string[] {
  const isNounOf = (at: number) =>
    /^(of|for|from|to)$/i.test(terms[at + 1] ?? '') &&
    at + 2 < terms.length &&
    isNoun(table, withoutMarks(table, terms[at] ?? ''), queues);
  const rest = terms.filter(
    (term, at) => !isFiller(term, queues) && !isNounOf(at) && !(term === 'to' && isNounOf(at - 1)),
  );
  return rest.length === 0 ? [...terms] : rest;
}

function conditionsOf(table: Table, words: readonly string[], known: Known, now: number): readonly Chip[] {
  const said = words.map((word) => withoutMarks(table, word));
  const text = said.join(' ');
  const meant = termFor(table, text.toLowerCase());
  if (meant !== undefined) return termsOf(meant).map((term) => parseTerm(table, term));
  const chip: Chip = parseTerm(table, text, now);
  if (words.length === 1 && !('problem' in chip)) return [chip];
  if (known.queues.includes(text) && table.bare?.queue !== undefined) return [{ word: 'queue', value: [text] }];
  const codeOrTime = codeIn(table, text) ?? timeIn(table, text, now);
  if (codeOrTime !== null) return [codeOrTime];
  const pairs = readingsOf(table, words).flatMap((reading) => {
    const pair = pairIn(reading);
    return (pair === null ? null : asKnown(table, pair, known)) ?? [];
  });
  const found = foundAs(table, [...wholesIn(table, words), ...pairs], known);
  if (found.length > 0) return found;
  // More words are a value only where a job has it: the next one may be a condition of its own.
  const [wanted] = words.length === 1 ? wholesIn(table, said) : pairs;
  return wanted !== undefined && isWordByForm(wanted.value) ? whereItIs(table, wanted, known) : [];
}

/** The code of an answer that failed. */
export const codeIn = (table: Table, text: string): Chip | null =>
  /^[45]\d\d$/.test(text) ? parseTerm(table, `code:${text}`) : null;

export function timeIn(table: Table, text: string, now: number): Chip | null {
  const range = timeInWords(text, now);
  return range === null || table.time === undefined ? null : parseTerm(table, `${table.time}:${range}`);
}

/** The likeliest condition on one of the values that some job meets, if any does. */
function foundAs(table: Table, all: readonly Wanted[], { paths, counts }: Known): readonly Chip[] {
  const chips = counts === undefined ? [] : all.flatMap((wanted) => conditionsFor(table, wanted, paths));
  return chips.filter((chip) => isFound(formatChip(table, chip), counts)).slice(0, 1);
}

/** The condition on a value that some job meets; if none is known to, that it is anywhere in a payload. */
function whereItIs(table: Table, wanted: Wanted, { paths, counts }: Known): readonly Chip[] {
  const termOf = (chip: Chip) => formatChip(table, chip);
  const [first] = byCounts(conditionsFor(table, wanted, paths), termOf, counts);
  if (first === undefined) return [];
  const isNowhere = counts?.get(termOf(first))?.count === 0 && rowOf(table, 'text') !== undefined;
  return [isNowhere ? parseTerm(table, `text:~${JSON.stringify(wanted.value)}`) : first];
}
