import { meantBy } from '../../../src/domain/spelling.ts';
import type { Rights } from '../words/rights.ts';
import { LEAST_MISSPELT } from './queue-search.ts';
import { mayUse, rowOf, type Table } from './table.ts';
import { termsOf } from './text.ts';
import { timeInWords } from './time-in-words.ts';

/** Questions to the server about a text that is being typed into a filter box. */

/** A thing and its number, such as `customer 42`: the paths in which a name is that thing, or its id. */
const THING = /^(\p{L}[\p{L}\d_.-]*)[ #]+(\S.*)$/u;

/** Words of a question that mean nothing to a filter, and punctuation. */
const FILLERS =
  /^(what|which|who|why|how|show|find|list|get|please|me|my|i|we|all|any|the|a|an|this|these|with|for|of|in|from|is|are|was|were|do|does|did|can|has|have|had|that|where|jobs?|[,?:.]+)$/i;

export const isFiller = (word: string, queues: readonly string[]) =>
  FILLERS.test(word.replace(MARKS, '') || word) && !queues.includes(word);

/** Punctuation behind a word. */
const MARKS = /[,?:.]+$/;

/** A word without the punctuation behind it and `#` before a number, unless it is a condition that is being typed. */
export function withoutMarks(table: Table, word: string): string {
  return hasWord(table, word) || word.startsWith('payload.')
    ? word
    : word.replace(/^#(?=\d)/, '').replace(MARKS, '') || word;
}

/** Words that change the meaning of what follows: a filter that dropped them would find other jobs. */
const OPERATORS =
  /^(no|not|non|without|except|but|and|or|nor|than|over|under|above|below|between|until|till|after|before|since|within|during|at|by|on|to|more|less|fewer|last|past|next|first|older|newer|https?|status)$/i;

/**
 * Whether a word may be the name of a thing that no path has, such as `user` in `user 42`. Words that mean something to
 * the filter are no such names, nor are their misspelt forms.
 */
export function isNoun(table: Table, word: string, queues: readonly string[]): boolean {
  const lower = word.toLowerCase();
  if (!/^\p{L}[\p{L}_-]*$/u.test(word) || OPERATORS.test(word) || isFiller(word, [])) return false;
  if (queues.includes(word) || [lower, `${lower}s`].some((one) => rowOf(table, one) !== undefined)) return false;
  if (termFor(table, lower) !== undefined || timeInWords(word, 0) !== null) return false;
  return lower.length < LEAST_MISSPELT || meantBy(lower, wordsOfPeople(table)) === null;
}

/** The host that is being typed, for which hosts are looked up; null if none is. */
export function hostIn(table: Table, text: string): string | null {
  if (rowOf(table, 'receiver') === undefined) return null;
  return text.match(/^receiver:(?:.*,)?([^,]*)$/)?.[1] ?? null;
}

/** The look-ups for a text: the start of a path, and the path whose values are wanted. */
export function lookUpsFor(
  table: Table,
  typed: string,
  rights: Rights | null = null,
): { path: string | null; valuesOf: string | null; value: string; queue: string | null } {
  const words = termsOf(wordsAmongConditions(table, typed));
  // A single word may be the start of a path or of a condition.
  const text = words.length > 1 ? words.map((word) => withoutMarks(table, word)).join(' ') : (words[0] ?? '');
  const isBareQueue = table.bare?.queue !== undefined && /^[^:]+$/.test(text);
  const queue = isBareQueue ? queueWordIn(table, text) : (text.match(/^queue:(?:.*,)?([^,]*)$/)?.[1] ?? null);
  const isWord = hasWord(table, text) && !text.startsWith('payload.');
  // The thing may be anywhere in a path, so the most frequent ones are wanted.
  if (THING.test(text) && mayUse(table, 'payload', rights)) return { path: '', valuesOf: null, value: '', queue };
  const [path = '', value] = text.replace(/^payload\./, '').split(':', 2);
  if (isWord || text === '' || !mayUse(table, 'payload', rights))
    return { path: null, valuesOf: null, value: '', queue };
  return { path, valuesOf: path === '' ? null : path, value: (value ?? '').replace(/^[!~><]/, ''), queue };
}

/** Whether a text begins with a word of the filter: `urn:order:7` may be a value. */
export const hasWord = (table: Table, text: string) =>
  rowOf(table, text.match(/^[-!]?([a-z]+):/)?.[1] ?? '') !== undefined;

function isCondition(table: Table, term: string): boolean {
  const [, word = '', mark] = term.match(/^([a-z]+)([:.])./) ?? [];
  const row = rowOf(table, word);
  return row !== undefined && (row.kind.mark ?? ':') === mark;
}

/** Runs of words, without what means something else. */
export function runsIn(table: Table, words: readonly string[], queues: readonly string[]): string[][] {
  const runs: string[][] = [[]];
  for (let at = 0; at < words.length; ) {
    const meant = meantAt(table, words, at, queues);
    if (meant > 0) runs.push([]);
    else runs.at(-1)?.push(words[at] as string);
    at += Math.max(meant, 1);
  }
  return runs.filter((run) => run.length > 0);
}

/** As many words has the longest time, such as `the last 2 hours`. */
export const MAX_WORDS = 4;

/** How many words from a place on mean a time, a state, a queue or nothing. */
function meantAt(table: Table, words: readonly string[], at: number, queues: readonly string[]): number {
  for (let length = MAX_WORDS; length > 0; length -= 1) {
    const said = words.slice(at, at + length).map((word) => withoutMarks(table, word));
    const text = said.join(' ');
    const isMeant = termFor(table, text.toLowerCase()) !== undefined || timeInWords(text, 0) !== null;
    if (isMeant || queues.includes(text) || isFiller(text, [])) return Math.min(length, words.length - at);
  }
  return 0;
}

/**
 * The words of people among full conditions, as in `state:dead customer 42`; the whole text if it has only one of both,
 * or if the rest is more of the text of a condition, as in `error:job failed`.
 */
function wordsAmongConditions(table: Table, text: string): string {
  const [, first = ''] = text.match(/^([a-z]+):/) ?? [];
  if (table.bare?.[first]) return text;
  const words = termsOf(text).filter((term) => !isCondition(table, term));
  return words.length === 0 ? text : words.join(' ');
}

/**
 * The word that may be the name of a queue: of several, as in `stuck emails`,
 * the last one that means nothing else and has no number.
 */
function queueWordIn(table: Table, text: string): string {
  const isQueue = (word: string, next = '') =>
    /^\p{L}/u.test(word) && !/^\d/.test(next) && termFor(table, word.toLowerCase()) === undefined;
  const words = termsOf(text);
  return words.findLast((word, at) => isQueue(word, words[at + 1]) && timeInWords(word, 0) === null) ?? text;
}

/** The part of a tag that is typed; null where none is. */
export function tagIn(table: Table, text: string): string | null {
  return rowOf(table, 'tag') === undefined ? null : (text.match(/^tag:(?:.*,)?([^,]*)$/)?.[1] ?? null);
}

/** The first meaning of a word of people, in the words of the filter. */
export function termFor({ terms = {} }: Table, text: string): string | undefined {
  return Object.entries(terms).find(([name]) => [text, `${text}s`].includes(wordOf(name)))?.[1];
}

export const wordsOfPeople = ({ terms = {} }: Table) => Object.keys(terms).map(wordOf);

export const wordOf = (name: string) => name.replace(/: .*/, '');
