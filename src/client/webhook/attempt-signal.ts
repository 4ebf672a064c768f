import { RETRIED_STATUSES, sleep } from '../exchange.ts';
import type { DeliveredJob } from './delivery.ts';
import type { JobAnswer, JobCalls } from './job-calls.ts';

/** Pauses between the reads of a job that has passed its `ackTimeout`. The service ends an attempt up to 1 s late. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** An attempt counts as over when the service has returned no job for this long. */
const SILENCE_MS = 300_000;

/** Says when an attempt is over. */
export interface AttemptSignal {
  /** Aborted with a `TimeoutError` when the attempt is over. */
  readonly signal: AbortSignal;
  /** Ends the reads of the job. */
  stop(): void;
}

/**
 * Watches an attempt in ack mode. Its ack deadline may have been extended, which the delivery does not tell, so when
 * `ackTimeoutMs` have passed the job is read, and read again until it no longer waits for the report on this attempt.
 */
export function watchAttempt(
  calls: Pick<JobCalls, 'get'>,
  job: DeliveredJob<unknown>,
  ackTimeoutMs: number,
): AttemptSignal {
  const over = new AbortController();
  const stopped = new AbortController();
  untilOver(calls, job.attempt, ackTimeoutMs, stopped.signal).then(
    () => over.abort(new DOMException('The attempt is over: its ack deadline has passed.', 'TimeoutError')),
    // It was stopped, or cannot know.
    () => undefined,
  );
  return { signal: over.signal, stop: () => stopped.abort() };
}

/** @throws the reason of `stopped`, and an Error if the key may not read the job */
async function untilOver(
  calls: Pick<JobCalls, 'get'>,
  attempt: number,
  ackTimeoutMs: number,
  stopped: AbortSignal,
): Promise<void> {
  await sleep(ackTimeoutMs, stopped, true);
  let heardAt = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    await sleep(pauseMs, stopped, true);
    const answer = await calls.get().catch(() => null);
    stopped.throwIfAborted();
    if (answer?.status === 403) throw new Error('the API key has no scope to read jobs');
    if (answer !== null && !RETRIED_STATUSES.has(answer.status)) {
      heardAt = performance.now();
      if (!isAwaited(answer, attempt)) return;
    } else if (performance.now() - heardAt >= SILENCE_MS) return;
  }
}

function isAwaited({ status, body }: JobAnswer, attempt: number): boolean {
  return status === 200 && body.status === 'awaiting_ack' && body.attempts === attempt;
}
