import { JobferryConnectionError } from './errors.ts';
import { backoffMs, isMistake, RETRIED_STATUSES, type Received, retryAfterMs, sleep } from './exchange.ts';

/** The client does not wait for a longer `Retry-After`, but returns the answer. */
const MAX_RETRY_AFTER_MS = 60_000;

interface Repeated {
  /** The call as an error names it. */
  name: string;
  /** 1 for a request that is not safe to repeat. */
  maxAttempts: number;
  signal: AbortSignal | undefined;
}

/**
 * Sends a request, and repeats it while the failure is temporary.
 * @throws JobferryConnectionError when no attempt was answered, and a mistake of the program as it is
 */
export async function sendRepeatedly(
  send: () => Promise<Received>,
  { name, maxAttempts, signal }: Repeated,
): Promise<Received> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await send().catch((error: unknown) => ({ error }));
    const failed = 'error' in outcome;
    if (failed) {
      signal?.throwIfAborted();
      if (isMistake(outcome.error)) throw outcome.error;
    }
    if (!failed && !RETRIED_STATUSES.has(outcome.status)) return outcome;

    const pauseMs = attempt < maxAttempts ? pauseBefore(attempt, failed ? null : outcome.headers) : null;
    if (pauseMs !== null) await sleep(pauseMs, signal);
    else if (failed) throw new JobferryConnectionError(name, attempt, outcome.error);
    else return outcome;
  }
}

/** Milliseconds until the retry; null when `Retry-After` is too long. */
function pauseBefore(attempt: number, headers: Headers | null): number | null {
  const leastMs = retryAfterMs(headers?.get('retry-after') ?? null);
  return leastMs > MAX_RETRY_AFTER_MS ? null : Math.max(backoffMs(attempt), leastMs);
}
