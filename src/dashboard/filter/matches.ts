import type { JobState } from '../words/words.ts';
import type { Filter, StateName } from './chips.ts';

/** Whether a job of a list still matches, as far as its state says. */
export function stillMatches(filter: Filter, { state }: { state: JobState }): boolean {
  const chip = filter.find(({ word }) => word === 'state');
  return chip?.word !== 'state' || chip.values.includes(state.toLowerCase().replace('_', '-') as StateName);
}
