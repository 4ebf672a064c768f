import type { BackoffType } from './queue-settings.ts';

/** Keeps a long series of retries within reach of the 24 h delivery lifetime (D4). */
const MAX_BACKOFF_SECONDS = 3600;

/** Jitter spreads retries that failed together, and only ever delays (D4). */
const JITTER_SHARE = 0.1;

/**
 * Milliseconds to wait before the next attempt (D4).
 * @param failures failed attempts so far, from 1
 * @param random uniform in [0, 1)
 */
export function backoffMs(type: BackoffType, delaySeconds: number, failures: number, random: number): number {
  const seconds = type === 'fixed' ? delaySeconds : Math.min(MAX_BACKOFF_SECONDS, delaySeconds * 2 ** (failures - 1));
  return Math.ceil(seconds * 1000 * (1 + JITTER_SHARE * random));
}
