import { addChip, formatChip, formatFilter, parseFilter, parseTerm } from '../../../packages/query/filter/engine.ts';
import { NUMBERS, TIMES } from '../../../packages/query/filter/kinds.ts';
import { meaningsOf } from '../../../packages/query/filter/meanings.ts';
import type { Known } from '../../../packages/query/filter/suggest.ts';
import { type Chip, type Filter, rowOf, type Table } from '../../../packages/query/filter/table.ts';
import { UsageError } from './command.ts';
import { isBare } from './filter-known.ts';

/** The conditions of `--filter`. */

/** Another option that stands for a condition, such as `--queue`. */
interface OptionTerm {
  option: string;
  term: string;
}

/** Ends a refusal of words that no look-up explained. */
const ADVICE = ' A queue is queue:NAME, a value of a payload is payload.PATH:VALUE.';

/**
 * Returns the conditions of the text, and of other options.
 * @param known queues and paths that its words may be
 * @throws UsageError for words that are no condition, and for a condition that would take the place of another one
 */
export function chipsOf<T extends Table>(
  table: T,
  text: string,
  others: readonly OptionTerm[],
  known: Known,
  now: number,
): Filter<T> {
  // Words of people, such as `failed yesterday`, mean what the box takes them for.
  const meant = meaningsOf(table, text, known, now).flatMap(({ words, chips: found }) =>
    found.length === 0 ? words.map((word) => parseTerm(table, word)) : found,
  );
  const own = meant.reduce<readonly Chip[]>((all, chip) => withChip(table, all, chip), []);
  const chips = others.reduce((all, other) => withOption(table, all, other), own);
  for (const chip of chips) {
    if ('problem' in chip)
      throw new UsageError(`--filter: ${chip.text}: ${chip.problem}${isBare(chip.text) ? ADVICE : ''}`);
  }
  // Only now, because a default counts as no condition that was typed.
  return parseFilter(table, formatFilter(table, chips));
}

/** A value beside that of the filter would be "or", and find jobs that the option rules out. */
function withOption(table: Table, chips: readonly Chip[], { option, term }: OptionTerm): readonly Chip[] {
  const added: Chip = parseTerm(table, term);
  if (chips.every(({ word }) => word !== added.word)) return [...chips, added];
  throw new UsageError(`${option} and --filter both have ${added.word}: give one of them`);
}

/**
 * The box shows that a second condition of a word replaced the first one. A command shows no conditions, so it takes
 * the two ends of a range as the range, and refuses what only one can have.
 */
function withChip(table: Table, chips: readonly Chip[], added: Chip): readonly Chip[] {
  const all = addChip(table, chips, added);
  const kind = rowOf(table, added.word)?.kind;
  if ('problem' in added || all.length > chips.length || kind?.join !== undefined) return all;
  const old = chips.findIndex((chip, at) => chip !== all[at]);
  const terms = [chips[old], added].map((chip) => (chip === undefined ? '' : formatChip(table, chip)));
  if (terms[0] === terms[1]) return chips;
  if (kind !== TIMES && kind !== NUMBERS)
    throw new UsageError(`--filter: ${added.word} is given twice, and can be given once`);
  const [from, to] = [/:>=?(.*)/, /:<=?(.*)/].map((end) => terms.flatMap((term) => end.exec(term)?.[1] ?? [])[0]);
  if (from === undefined || to === undefined)
    throw new UsageError(`--filter: ${added.word} is given twice: a range is ${added.word}:A..B`);
  return chips.with(old, parseTerm(table, `${added.word}:${from}..${to}`));
}
