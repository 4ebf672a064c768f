import { setTimeout as sleep } from 'node:timers/promises';

interface Retries {
  /** Ends the attempts. A running attempt is not interrupted. */
  signal: AbortSignal;
  /** @param failures number of attempts that have failed so far */
  waitMs(failures: number): number;
  onFailure(error: unknown): void;
}

/**
 * Attempts something until it succeeds, and returns its result.
 * @returns null when the signal was aborted before an attempt succeeded
 */
export async function untilSuccess<T>(
  attempt: (failures: number) => Promise<T>,
  { signal, waitMs, onFailure }: Retries,
): Promise<T | null> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      return await attempt(failures);
    } catch (error) {
      if (signal.aborted) return null;
      failures += 1;
      onFailure(error);
      await pause(waitMs(failures), signal);
    }
  }
  return null;
}

/** Resolves after the time, or when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
