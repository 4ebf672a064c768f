import { ago, minute, span, type View } from '../../query/words/format.ts';
import { type Phrase, phrase } from './phrase.ts';

/** After this time without a death its age is shown: whether the next one comes is not known. */
export const RECENT_MS = 10 * 60_000;

/** When jobs died of a cause, and how long ago the last one did. */
export function spanOfDeath(
  { firstSeen, lastSeen }: { firstSeen: string; lastSeen: string },
  view: View,
): { when: Phrase; state: string } {
  const [first, last] = [Date.parse(firstSeen), Date.parse(lastSeen)];
  const since = view.now - last;
  const at = (ms: number) => ({ at: ms, text: minute(ms, view) });
  const state =
    since < RECENT_MS ? `most recently ${ago(last, view)}` : `none for ${span(Math.floor(since / 60_000) * 60_000)}`;
  const isOneMinute = minute(first, view) === minute(last, view);
  return { when: isOneMinute ? phrase`at ${at(last)}` : phrase`${at(first)} to ${at(last)}`, state };
}
