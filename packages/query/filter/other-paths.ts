import { JOBS, type JobsFilter } from './jobs.ts';
import { conditionsFor, type KnownPath } from './values.ts';

/** The filter with the value at another path. */
interface OtherPath {
  value: string;
  path: string;
  filter: JobsFilter;
}

/** Where else the value of the first condition on a payload may be, for a filter that no job matches. */
export function otherPathsOf(filter: JobsFilter, paths: readonly KnownPath[]): OtherPath[] {
  const at = filter.findIndex(({ word }) => word === 'payload');
  const chip = filter[at];
  if (chip === undefined || 'problem' in chip || chip.word !== 'payload' || chip.value.op !== 'EQ') return [];
  const { path: own, values } = chip.value;
  const value = String(values.at(-1));
  const others = paths.filter((one) => one.value !== own);
  return conditionsFor(JOBS, { thing: null, value }, others).flatMap((other): OtherPath[] => {
    const found = other as JobsFilter[number];
    if ('problem' in found || found.word !== 'payload') return [];
    return [{ value, path: found.value.path, filter: filter.with(at, found) }];
  });
}
