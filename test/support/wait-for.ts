import { setTimeout as wait } from 'node:timers/promises';

export interface WaitOptions {
  /** Generous by default: it only ends tests that fail anyway. */
  timeoutMs?: number;
  everyMs?: number;
  /** The awaited condition, for the error text. */
  message?: string;
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/** The failure of a check that must hold at every look. */
class Broken extends Error {}

/**
 * Within a condition that is waited for: a check that must hold at every look. Its failure ends the wait, while other
 * errors only mean that the condition is not yet met.
 */
export function always(check: () => void): void {
  try {
    check();
  } catch (cause) {
    throw new Broken('', { cause });
  }
}

/**
 * Calls the condition until it returns a truthy value, and returns that. A condition that throws is not yet met, except
 * by `always`.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { timeoutMs = 60_000, everyMs = 20, message = 'the condition' }: WaitOptions = {},
): Promise<Truthy<T>> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    let last: unknown;
    try {
      last = await condition();
      if (last) return last as Truthy<T>;
    } catch (error) {
      if (error instanceof Broken) throw error.cause;
      last = error;
    }
    if (performance.now() >= giveUpAt) {
      throw new Error(`waited ${timeoutMs} ms for ${message}, last: ${String(last)}`, { cause: last });
    }
    await wait(everyMs);
  }
}
