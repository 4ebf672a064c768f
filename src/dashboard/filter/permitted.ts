import { mayFilterBy, NO_SEARCH, type Rights } from '../words/rights.ts';

/** The filter with each condition that the person may not use as a chip that says so, as the server would refuse it. */
export function permitted<Chip extends { word: string }>(
  filter: readonly Chip[],
  rights: Rights | null,
  textOf: (chip: Chip) => string,
): (Chip | { word: 'unknown'; text: string; problem: string })[] {
  return filter.map((chip) =>
    mayFilterBy(rights, chip.word) ? chip : { word: 'unknown', text: textOf(chip), problem: NO_SEARCH },
  );
}
