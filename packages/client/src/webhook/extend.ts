import { unwrap } from '../errors.ts';
import { backoffMs, RETRIED_STATUSES, retryAfterMs, sleep } from '../exchange.ts';
import type { AttemptWatch } from './attempt-signal.ts';
import type { DeliveredJob, Delivery } from './delivery.ts';
import type { ExtendAnswer, JobCalls } from './job-calls.ts';
import { unlessConnection } from './report.ts';

/** Repeats are harmless: an earlier deadline than the present one has no effect. */
const TRIES = 4;
/** A longer `Retry-After` is not waited for. */
const MAX_PAUSE_MS = 60_000;
/** An extension asks for at most this long, and a heartbeat goes on for as long. */
export const DAY_MS = 24 * 3600 * 1000;

/** Moves the ack deadline of an attempt. */
export interface Extension {
  extend: Delivery<unknown>['extend'];
  /**
   * Extends the deadline whenever a third of `ackTimeoutMs` has passed, until `stopped` or until the attempt is over.
   * After a temporary failure it tries again sooner. Each request has to be answered before the next one is due. Any
   * other refusal, such as the 404 of a proxy or a revoked key, ends the heartbeat only when the deadline that is known
   * has passed.
   * @param onError receives a refusal, and an error when the deadline has passed without an extension, each once until
   * an extension is accepted
   * @throws the error of a request that cannot be sent
   */
  beat(ackTimeoutMs: number, stopped: AbortSignal, onError: (error: Error) => void): Promise<void>;
}

/** Creates the extension of an attempt. `watch` is notified of each new deadline, and when the attempt is over. */
export function createExtension(calls: JobCalls, job: DeliveredJob<unknown>, watch: AttemptWatch): Extension {
  /** Sends one request. A refusal that says so ends the attempt for its signal, too. */
  const once = async (seconds: number, progress?: string, timeoutMs?: number): Promise<ExtendAnswer | Error> => {
    // Before it is sent, so this deadline is never later than the service's.
    const sentAt = performance.now();
    const answer = await calls.extend({ attempt: job.attempt, seconds, progress }, timeoutMs).catch(unlessConnection);
    if (answer instanceof Error) return answer;
    if (answer.status === 200) watch.lastsUntil(sentAt + seconds * 1000);
    else if (answer.isOver) watch.isOver();
    return answer;
  };

  return {
    async extend(seconds, progress) {
      for (let attempt = 1; ; attempt += 1) {
        const answer = await once(seconds, progress);
        const pauseMs = Math.max(backoffMs(attempt), retryMsOf(answer));
        if (!isTemporary(answer) || attempt === TRIES || pauseMs > MAX_PAUSE_MS) return deadlineOf(answer);
        await sleep(pauseMs);
      }
    },

    async beat(ackTimeoutMs, stopped, onError) {
      const seconds = Math.min(ackTimeoutMs, DAY_MS) / 1000;
      const endsAt = performance.now() + DAY_MS;
      const beatMs = ackTimeoutMs / 3;
      let pauseMs = beatMs;
      let isRefusalReported = false;
      let isLateReported = false;
      while (performance.now() < endsAt) {
        await sleep(pauseMs, stopped, true).catch(() => undefined);
        if (stopped.aborted) return;
        const answer = await once(seconds, undefined, beatMs);
        if (stopped.aborted) return;
        const isLate = watch.isLate();
        if (isLate && !isLateReported) {
          isLateReported = true;
          onError(await lateError(answer));
        }
        if (watch.signal.aborted) return;
        if (isTemporary(answer)) {
          pauseMs = Math.min(beatMs, Math.max(beatMs / 4, retryMsOf(answer)));
          continue;
        }
        pauseMs = beatMs;
        const refusal = await refusalIn(answer);
        if (refusal === null) {
          isRefusalReported = false;
          isLateReported = false;
          continue;
        }
        if (isLate) return;
        if (!isRefusalReported) onError(refusal);
        isRefusalReported = true;
      }
    },
  };
}

/** Server errors, too: the next try may meet another process. */
function isTemporary(answer: ExtendAnswer | Error): boolean {
  return answer instanceof Error || answer.status >= 500 || RETRIED_STATUSES.has(answer.status);
}

/** @throws the failure */
async function deadlineOf(answer: ExtendAnswer | Error): Promise<Date> {
  if (answer instanceof Error) throw answer;
  if (answer.status === 200) return new Date(answer.body.deadline);
  return unwrap(answer) as Promise<never>;
}

/** Returns the error of an answer; null if the extension was accepted. */
function refusalIn(answer: ExtendAnswer | Error): Promise<Error | null> {
  return deadlineOf(answer).then(
    () => null,
    (error: Error) => error,
  );
}

/** @param answer to the last extension, which was not accepted */
async function lateError(answer: ExtendAnswer | Error): Promise<Error> {
  const cause = await refusalIn(answer);
  const reason = cause === null ? '' : `: ${cause.message}`;
  return new Error(`no heartbeat was accepted before the ack deadline${reason}`, { cause });
}

function retryMsOf(answer: ExtendAnswer | Error): number {
  return answer instanceof Error ? 0 : retryAfterMs(answer.headers.get('retry-after'));
}
