/** Below this a hold is short: rate limiters that round down ask for 0, and so do dates that have just passed. */
const SHORT_HOLD_MS = 1000;
/** So many short holds in a row are as short as asked. */
const SHORT_HOLDS_AS_ASKED = 3;
const LONGEST_STRETCHED_HOLD_MS = 60_000;

/** How many short holds in a row this one makes. */
export function countShortHolds(before: number, askedMs: number): number {
  return askedMs < SHORT_HOLD_MS ? before + 1 : 0;
}

/** A job that is told "not now, but at once" again and again would use up its holds within a second (D6). */
export function stretchedHoldMs(askedMs: number, shortHolds: number): number {
  if (shortHolds <= SHORT_HOLDS_AS_ASKED) return askedMs;
  return Math.min(SHORT_HOLD_MS * 2 ** (shortHolds - SHORT_HOLDS_AS_ASKED - 1), LONGEST_STRETCHED_HOLD_MS);
}
