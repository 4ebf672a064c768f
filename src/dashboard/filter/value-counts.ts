import { formatChip } from './engine.ts';
import { type JOBS, type JobFilter, toJobFilter } from './jobs.ts';
import type { Chip, Filter, Table } from './table.ts';
import { type Counts, conditionsFor, type KnownPath, MAX_CANDIDATES, wantedIn } from './values.ts';

/** The question to the server in how many jobs the values of a text are, for the box, the palette and the command line. */

interface Count {
  count: number;
  exact: boolean;
}
type Answer = Partial<Record<'a' | 'b' | 'c' | 'd' | 'e', Count | null>>;

/** The conditions that are counted: of several values in a text, those of the first. */
export function countedFor(table: Table, text: string, paths: readonly KnownPath[]): readonly Chip[] {
  const all = wantedIn(text).flatMap((wanted) => conditionsFor(table, wanted, paths));
  const terms = new Map(all.map((chip) => [formatChip(table, chip), chip]));
  return [...terms.values()].slice(0, MAX_CANDIDATES);
}

export function countVariables(chips: readonly Chip[]) {
  const [a, b, c, d, e] = chips.map((chip): JobFilter => toJobFilter([chip] as Filter<typeof JOBS>, 0));
  const has = { hasB: b !== undefined, hasC: c !== undefined, hasD: d !== undefined, hasE: e !== undefined };
  return { a: a ?? null, b: b ?? null, c: c ?? null, d: d ?? null, e: e ?? null, ...has };
}

export function countsOf(table: Table, chips: readonly Chip[], { a, b, c, d, e }: Answer): Counts {
  return new Map(
    [a, b, c, d, e].flatMap((found, at) => {
      const chip = chips[at];
      return found == null || chip === undefined ? [] : [[formatChip(table, chip), found] as const];
    }),
  );
}
