import type { DeliveryRules, JobState, Transition } from '../../src/domain/transition.ts';

/** Database time of the tests, in milliseconds. */
export const NOW = Date.UTC(2026, 10, 21, 12);
export const HOUR = 3_600_000;

/** A job on its first delivery. */
export function job(overrides: Partial<JobState> = {}): JobState {
  return {
    status: 'processing',
    attempts: 1,
    maxAttempts: 3,
    deferCount: 0,
    shortHolds: 0,
    interruptions: 0,
    backoffType: 'fixed',
    backoffDelay: 10,
    deliverBy: NOW + 24 * HOUR,
    lastError: null,
    webhookStatusCode: null,
    ...overrides,
  };
}

/** A job whose webhook confirmed receipt with 202. */
export function awaiting(overrides: Partial<JobState> = {}): JobState {
  return job({ status: 'awaiting_ack', webhookStatusCode: 202, ...overrides });
}

export function rules(overrides: Partial<DeliveryRules> = {}): DeliveryRules {
  return { mode: 'standard', maxDefers: 2, ackTimeout: 300, ackTimeoutAction: 'retry', isProbe: false, ...overrides };
}

export function ackRules(overrides: Partial<DeliveryRules> = {}): DeliveryRules {
  return rules({ mode: 'ack', ...overrides });
}

export const accepted = { type: 'answered', outcome: { kind: 'accepted', statusCode: 200 } } as const;
export const failed = { type: 'answered', outcome: { kind: 'failed', statusCode: 500, error: 'HTTP 500' } } as const;
export const noAnswer = { type: 'answered', outcome: { kind: 'failed', statusCode: null, error: 'timeout' } } as const;
export function backpressure(retryAfterMs: number) {
  return { type: 'answered', outcome: { kind: 'backpressure', statusCode: 429, retryAfterMs } } as const;
}
export function nacked(retryable: boolean, reason: string | null = null) {
  return { type: 'nacked', retryable, reason } as const;
}
export function deferred(retryAfterMs: number, scope: 'queue' | 'job' = 'queue', reason: string | null = null) {
  return { type: 'deferred', retryAfterMs, scope, reason } as const;
}

/** The expected values of a case, without fields that it leaves open. */
export type Expected = Partial<Transition>;
