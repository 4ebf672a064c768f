import type { Chip, Filter } from './chips.ts';
import { formatFilter } from './format.ts';
import { toSearch } from './search.ts';
import { boundAt } from './time-bound.ts';

/** Links from a figure to the jobs that it counts. */

export function jobsPath(filter: Filter): string {
  return `/jobs${toSearch({ q: formatFilter(filter) })}`;
}

/** The jobs of a queue that fulfil the chips. */
export function jobsOfQueue(name: string, ...chips: readonly Chip[]): Filter {
  return [{ word: 'queue', values: [name] }, ...chips];
}

/** Jobs published in a span of time. */
export function createdIn({ from, to }: { from: number; to: number }): Chip {
  return { word: 'created', range: { from: boundAt(from), to: boundAt(to) } };
}

/** Attempts of all jobs, by the conditions of `AttemptList`. */
export function attemptsPath(list: Readonly<Record<string, string | null>> = {}): string {
  return `/jobs/attempts${toSearch(list)}`;
}

/** Dead letters of a queue. */
export function deadPath(name: string): string {
  return `/dead${toSearch({ q: formatFilter([{ word: 'queue', values: [name] }]) })}`;
}

export function queuePath(name: string, part: '' | '/edit' | '/send' = ''): string {
  return `/queues/${encodeURIComponent(name)}${part}`;
}
