/** A hold below this is short. Rate limiters that round down request 0 s, and so does a date that has just passed. */
const SHORT_HOLD_MS = 1000;
/** This many short holds in a row keep the requested length; the following ones are stretched. */
const UNSTRETCHED_HOLDS = 3;
const LONGEST_STRETCHED_HOLD_MS = 60_000;

/** Returns the number of short holds in a row up to and including this one; 0 if this one is not short. */
export function countShortHolds(before: number, holdMs: number): number {
  return holdMs < SHORT_HOLD_MS ? before + 1 : 0;
}

/**
 * Stretches short holds: a receiver that keeps requesting an immediate retry would use up a job's holds within a second
 * (D6).
 */
export function stretchedHoldMs(holdMs: number, shortHolds: number): number {
  if (shortHolds <= UNSTRETCHED_HOLDS) return holdMs;
  return Math.min(SHORT_HOLD_MS * 2 ** (shortHolds - UNSTRETCHED_HOLDS - 1), LONGEST_STRETCHED_HOLD_MS);
}
