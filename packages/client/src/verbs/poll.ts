import { JobferryApiError, JobferryConnectionError } from '../errors.ts';
import { sleep } from '../exchange.ts';

const FIRST_MS = 100;
const LAST_MS = 2000;
/** A service that restarts, or a database that fails over, is back before. */
const MAX_SILENCE_MS = 300_000;

/**
 * Reads something again and again until it is over. A failure that may pass does not end it.
 * @throws the failure that has lasted for five minutes, a refusal, or the reason of the signal
 */
export async function poll<T>(read: () => Promise<T>, isOver: (value: T) => boolean, signal?: AbortSignal): Promise<T> {
  let readAt = Date.now();
  for (let pauseMs = FIRST_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_MS)) {
    try {
      const value = await read();
      if (isOver(value)) return value;
      readAt = Date.now();
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayPass(error) || Date.now() - readAt > MAX_SILENCE_MS) throw error;
    }
    await sleep(pauseMs, signal);
  }
}

/** Whether the service may answer otherwise in a moment. */
export function mayPass(error: unknown): boolean {
  if (error instanceof JobferryApiError) return error.status >= 500 || error.status === 429;
  return error instanceof JobferryConnectionError;
}
