import { JobferryError } from './errors.ts';

/** Dismissed causes of dead letters: "known, leave it". */

/** Limit per account. */
export const MAX_DISMISSALS = 200;
/** A dismissal ends, so that no cause is forgotten for ever. */
const MAX_DAYS = 90;
const DAY_MS = 86_400_000;

/** As the database makes them (`jobferry_fingerprint`). */
const FINGERPRINT = /^[0-9a-f]{16}$/;

export function isFingerprint(text: string): boolean {
  return FINGERPRINT.test(text);
}

/** @throws JobferryError `invalid_request` for a time that is too late */
export function assertDismissalEnd(until: Date, nowMs: number): void {
  const time = until.getTime();
  if (time >= 0 && time <= nowMs + MAX_DAYS * DAY_MS) return;
  throw new JobferryError('invalid_request', `until must be at most ${MAX_DAYS} days from now`);
}
