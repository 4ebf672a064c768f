import { formatChip } from './engine.ts';
import { type JOBS, toJobFilter } from './jobs.ts';
import type { Chip, Filter, Table } from './table.ts';
import { type Counts, conditionsFor, type KnownPath, MAX_CANDIDATES, wantedIn } from './values.ts';

/**
 * The questions to the server in how many jobs the values of a text are, for the box, the palette and the command line.
 */

/**
 * So many paths are fetched: the most that the server returns. It finds paths by their start only, and a thing may be
 * anywhere in a path.
 */
export const FETCHED_PATHS = 100;

/** So many conditions are counted for a text. */
const MOST_COUNTED = 2 * MAX_CANDIDATES;

/** The conditions that are counted: those of the most likely values in a text. */
export function countedFor(
  table: Table,
  text: string,
  paths: readonly KnownPath[],
  queues: readonly string[] = [],
): readonly Chip[] {
  const all = wantedIn(table, text, { paths, queues }).flatMap((wanted) => conditionsFor(table, wanted, paths));
  const terms = new Map(all.map((chip) => [formatChip(table, chip), chip]));
  return [...terms.values()].slice(0, MOST_COUNTED);
}

/** Variables of `JobsCount`. */
export const countVariables = (chip: Chip) => ({ filter: toJobFilter([chip] as Filter<typeof JOBS>, 0), max: 1000 });

/** @param found in the order of the conditions; those that are not known yet are left out */
export function countsOf(
  table: Table,
  chips: readonly Chip[],
  found: readonly ({ count: number; exact: boolean } | undefined)[],
): Counts {
  return new Map(chips.flatMap((chip, at) => (found[at] == null ? [] : [[formatChip(table, chip), found[at]]])));
}
