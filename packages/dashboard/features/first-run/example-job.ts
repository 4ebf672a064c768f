import type { JobWhole } from '../../words/job.ts';

const NOT_RECORDED = { startedAt: null, retryAt: null, heldUntil: null };

/** A job with a failure and a hold, to show what will be seen. It is delivered in the end, a moment before `now`. */
export function exampleJob(now: number): JobWhole {
  const at = (seconds: number) => new Date(now + (seconds - 9) * 1000).toISOString();
  return {
    id: '0'.repeat(24),
    status: 'COMPLETED',
    state: 'COMPLETED',
    attemptsMade: 2,
    maxAttempts: 3,
    deferCount: 1,
    createdAt: at(1.004),
    scheduledFor: at(8.1),
    startedAt: at(8.14),
    endedAt: at(8.2),
    deliverBy: at(86_400),
    ackDeadline: null,
    lastError: null,
    deadReason: null,
    cancelledBy: null,
    waiting: null,
    progress: null,
    receipt: null,
    backoffType: 'EXPONENTIAL',
    backoffDelay: 2,
    attempts: [
      {
        attempt: 1,
        status: 'FAILED',
        at: at(1.04),
        durationMs: 31,
        waitMs: 5,
        webhookStatusCode: 500,
        error: 'HTTP 500',
        ...NOT_RECORDED,
      },
      {
        attempt: 2,
        status: 'DEFERRED',
        at: at(3.15),
        durationMs: 12,
        waitMs: 4,
        webhookStatusCode: 429,
        error: 'HTTP 429',
        ...NOT_RECORDED,
      },
      {
        attempt: 2,
        status: 'SUCCESS',
        at: at(8.2),
        durationMs: 23,
        waitMs: 6,
        webhookStatusCode: 200,
        error: null,
        ...NOT_RECORDED,
      },
    ],
    queue: {
      mode: 'STANDARD',
      concurrency: 5,
      inFlight: 0,
      rateLimitMax: null,
      rateLimitWindow: 60,
      maxDefers: 50,
      ackTimeout: 300,
      pause: null,
      hold: null,
      rateWindow: null,
    },
  };
}
