/** A hold below this is short. Rate limiters that round down request 0 s, and so does a date that has just passed. */
const SHORT_HOLD_MS = 1000;
/** This many short holds in a row keep the requested length; the following ones are stretched. */
const SHORT_HOLDS_AS_ASKED = 3;
const LONGEST_STRETCHED_HOLD_MS = 60_000;

/** Returns the number of short holds in a row up to and including this one; 0 if this one is not short. */
export function countShortHolds(before: number, askedMs: number): number {
  return askedMs < SHORT_HOLD_MS ? before + 1 : 0;
}

/**
 * Stretches short holds: a receiver that keeps requesting an immediate retry would use up a job's holds within a second
 * (D6).
 */
export function stretchedHoldMs(askedMs: number, shortHolds: number): number {
  if (shortHolds <= SHORT_HOLDS_AS_ASKED) return askedMs;
  return Math.min(SHORT_HOLD_MS * 2 ** (shortHolds - SHORT_HOLDS_AS_ASKED - 1), LONGEST_STRETCHED_HOLD_MS);
}
