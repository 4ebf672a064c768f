import { sleep } from '../exchange.ts';
import type { DeliveredJob } from './delivery.ts';
import { type JobAnswer, type JobCalls, saysForbidden, saysOver } from './job-calls.ts';

/** Pauses between the reads of a job whose ack deadline has passed. The service ends an attempt up to 1 s late. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
/** An attempt counts as over when the service has returned no job for this long. */
const SILENCE_MS = 300_000;

/** Knows when an attempt is over. */
export interface AttemptWatch {
  /** Aborted with a `TimeoutError` when the attempt is over. */
  readonly signal: AbortSignal;
  /** Says that the ack deadline is not before this time of `performance.now()`. */
  lastsUntil(time: number): void;
  /** Whether the ack deadline that is known has passed. */
  isLate(): boolean;
  /** Aborts the signal: the service has said that the attempt is over. */
  isOver(): void;
  /** Ends the reads of the job. */
  stop(): void;
}

/**
 * Watches an attempt in ack mode. Its ack deadline may have been extended without this handler, so when the deadline
 * that is known has passed the job is read, and read again until it no longer waits for the report on this attempt.
 */
export function watchAttempt(calls: Pick<JobCalls, 'get'>, job: DeliveredJob<unknown>): AttemptWatch {
  const over = new AbortController();
  const stopped = new AbortController();
  let deadline: number | null = null;
  const isOver = () => {
    stopped.abort();
    over.abort(new DOMException('The attempt is over: its ack deadline has passed.', 'TimeoutError'));
  };
  return {
    signal: over.signal,
    lastsUntil(time) {
      const isFirst = deadline === null;
      deadline = Math.max(deadline ?? time, time);
      // If it was stopped, or cannot know, the signal stays as it is.
      if (isFirst) untilOver(calls, job.attempt, () => deadline ?? time, stopped.signal).then(isOver, () => undefined);
    },
    isLate: () => deadline !== null && performance.now() >= deadline,
    isOver,
    stop: () => stopped.abort(),
  };
}

/** @throws the reason of `stopped`, and an Error if the key may not read the job */
async function untilOver(
  calls: Pick<JobCalls, 'get'>,
  attempt: number,
  deadline: () => number,
  stopped: AbortSignal,
): Promise<void> {
  let heardAt = performance.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    for (let left = deadline() - performance.now(); left > 0; left = deadline() - performance.now()) {
      await sleep(Math.ceil(left), stopped, true);
      pauseMs = FIRST_PAUSE_MS;
      heardAt = performance.now();
    }
    await sleep(pauseMs, stopped, true);
    const answer = await calls.get().catch(() => null);
    stopped.throwIfAborted();
    if (answer !== null && saysForbidden(answer)) throw new Error('the API key has no scope to read jobs');
    const isAwaited = answer === null ? null : isAwaitedIn(answer, attempt);
    if (isAwaited === false) return;
    if (isAwaited) heardAt = performance.now();
    else if (performance.now() - heardAt >= SILENCE_MS) return;
  }
}

/** Returns null for an answer that says nothing about the job: a failure, or the answer of a proxy. */
function isAwaitedIn(answer: JobAnswer, attempt: number): boolean | null {
  if (saysOver(answer)) return false;
  if (answer.status !== 200 || typeof answer.body?.attempts !== 'number') return null;
  return answer.body.status === 'awaiting_ack' && answer.body.attempts === attempt;
}
