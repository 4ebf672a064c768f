import type { ATTEMPTS } from '../../../../query/filter/attempts.ts';
import type { Fields } from '../../../../query/filter/table.ts';
import { type Count, count, time, took, type View } from '../../../../query/words/format.ts';
import { type Phrase, phrase } from '../../../words/phrase.ts';

/** A list of attempts of many jobs: its filter and its order stand in its address. */
export interface AttemptList extends Fields<typeof ATTEMPTS> {
  order: 'latest' | null;
}

/** "1 204 attempts match. The slowest took 14.8 s." */
export function sentenceOfAttempts(
  all: Count,
  first: { durationMs: number | null; at: string } | undefined,
  { order }: Pick<AttemptList, 'order'>,
  view: View,
): Phrase {
  if (first === undefined) return phrase`No attempt matches.`;
  const found = `${count(all.count, all.exact)} ${all.count === 1 ? 'attempt matches' : 'attempts match'}`;
  if (order === 'latest') {
    const at = Date.parse(first.at);
    return phrase`${found}. The last one ended at ${{ at, text: time(at, view) }}.`;
  }
  return phrase`${found}. The slowest took ${took(first.durationMs ?? 0)}.`;
}
