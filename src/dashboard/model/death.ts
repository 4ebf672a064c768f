import { minute, span, type View } from './format.ts';
import { type Phrase, phrase } from './phrase.ts';

/** A cause without a death for so long is over, if the receiver is well. */
const OVER_AFTER_MS = 10 * 60_000;

/** When jobs died of a cause, and whether it goes on. */
export function spanOfDeath(
  { firstSeen, lastSeen }: { firstSeen: string; lastSeen: string },
  view: View,
): { when: Phrase; state: string } {
  const [first, last] = [Date.parse(firstSeen), Date.parse(lastSeen)];
  const since = view.now - last;
  const at = (ms: number) => ({ at: ms, text: minute(ms, view) });
  return since < OVER_AFTER_MS
    ? { when: phrase`${at(first)} to now`, state: 'still going on' }
    : { when: phrase`${at(first)} to ${at(last)}`, state: `none for ${span(Math.floor(since / 60_000) * 60_000)}` };
}
