import type { Sender } from '../../delivery/send.ts';

/** An attempt of a delivery that has ended. */
export interface AttemptSeen {
  /** By the clock that decides what is due. */
  at: Date;
  accountId: string;
  jobId: string;
  queue: string;
  /** Number of the attempt, from 1. */
  attempt: number;
  /** Null if there was no answer. */
  statusCode: number | null;
  /** The short name of the failure if there was no answer; null otherwise. */
  error: string | null;
  durationMs: number;
  /** Beginning of the answer's body; null without one. */
  answer: string | null;
}

interface Watcher {
  now(): Date;
  onAttempt(attempt: AttemptSeen): void;
  /**
   * Called when nothing listens where the deliveries of a queue go. Nothing was sent.
   * @returns whether the queue is paused now: then the job goes back, and no attempt is used
   */
  onUnreachable(queue: string, url: string): Promise<boolean>;
}

const NOTHING_SENT: ReadonlySet<string> = new Set(['connection_refused', 'dns_error']);

/** Wraps the sender of a worker. */
export function watchSender(sender: Sender, { now, onAttempt, onUnreachable }: Watcher): Sender {
  return {
    ...sender,
    async send(request) {
      const result = await sender.send(request);
      const { job } = request;
      if (job === undefined || 'abandoned' in result) return result;
      const { answer } = result;
      const error = answer.kind === 'no_answer' ? answer.error : null;
      if (error !== null && NOTHING_SENT.has(error) && (await onUnreachable(job.queue, request.url))) {
        return { abandoned: true };
      }
      onAttempt({
        at: now(),
        accountId: request.accountId ?? '',
        jobId: job.id,
        queue: job.queue,
        attempt: job.attempt,
        error,
        statusCode: answer.kind === 'answered' ? answer.statusCode : null,
        durationMs: Math.round(result.durationMs),
        answer: result.responseBody,
      });
      return result;
    },
  };
}

const FIRST_WORDS = 60;

/** A line for people. @param width of the longest name of a queue */
export function attemptLine(
  { at, jobId, queue, attempt, statusCode, error, durationMs, answer }: AttemptSeen,
  width: number,
): string {
  const time = at.toTimeString().slice(0, 8);
  const result = statusCode === null ? (error ?? 'no answer') : String(statusCode);
  const words = firstWords(answer ?? '');
  return `${time}  ${queue.padEnd(width)}  ${result} in ${durationMs} ms, attempt ${attempt} of ${jobId}${words === '' ? '' : `: ${words}`}`;
}

/** The answer is the developer's own, but control characters in it could rewrite the terminal's text. */
function firstWords(answer: string): string {
  const line = answer.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return line.length <= FIRST_WORDS ? line : `${line.slice(0, FIRST_WORDS - 1)}…`;
}
