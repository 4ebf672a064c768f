import { DEAD_LETTERS } from './dead-letters.ts';
import { formatFilter } from './engine.ts';
import { JOBS, type JobChip, type JobsFilter } from './jobs.ts';
import { toSearch } from './search.ts';
import { boundAt } from './time-bound.ts';

/** Links from a figure to the jobs that it counts. */

export function jobsPath(filter: JobsFilter): string {
  return `/jobs${toSearch({ q: formatFilter(JOBS, filter) })}`;
}

/** The jobs of a queue that fulfil the chips. */
export function jobsOfQueue(name: string, ...chips: readonly JobChip[]): JobsFilter {
  return [{ word: 'queue', value: [name] }, ...chips];
}

/** Jobs published in a span of time. */
export function createdIn({ from, to }: { from: number; to: number }): JobChip {
  return { word: 'created', value: { from: boundAt(from), to: boundAt(to) } };
}

/** Attempts of all jobs, by the conditions of `AttemptList`. */
export function attemptsPath(list: Readonly<Record<string, string | null>> = {}): string {
  return `/jobs/attempts${toSearch(list)}`;
}

/** Dead letters of a queue, or of all queues of a receiver. */
export function deadPath(name: string, word: 'queue' | 'receiver' = 'queue'): string {
  return `/dead${toSearch({ q: formatFilter(DEAD_LETTERS, [{ word, value: [name] }]) })}`;
}

/** The page of a receiver. The router does not read an encoded colon. */
export function receiverPath(host: string): string {
  return `/receivers/${encodeURIComponent(host).replaceAll('%3A', ':')}`;
}

export function queuePath(name: string, part: '' | '/changes' | '/edit' | '/send' = ''): string {
  return `/queues/${encodeURIComponent(name)}${part}`;
}

/** The queues that a search finds, such as `tag:mail`. */
export function queuesPath(search: string): string {
  return `/queues${toSearch({ q: search })}`;
}
