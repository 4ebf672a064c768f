import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { HistoryEntry } from '../../src/domain/job.ts';
import {
  type DeliveryRules,
  type JobEvent,
  type JobState,
  MAX_INTERRUPTIONS,
  type Transition,
  transition,
} from '../../src/domain/transition.ts';
import { NOW } from './fixtures.ts';

const LIFETIME_MS = 86_400_000;

const anyRules: fc.Arbitrary<DeliveryRules> = fc.record({
  mode: fc.constantFrom('standard', 'ack'),
  maxDefers: fc.integer({ min: 0, max: 4 }),
  ackTimeout: fc.double({ min: 0.001, max: 86_400, noNaN: true }),
  ackTimeoutAction: fc.constantFrom('retry', 'dead'),
  isProbe: fc.boolean(),
});
const wait = fc.oneof(fc.integer({ min: 0, max: 120_000 }), fc.integer({ min: 0, max: 2 * LIFETIME_MS }));
const reason = fc.option(fc.string({ maxLength: 5 }), { nil: null });
const anyEvent: fc.Arbitrary<JobEvent> = fc.oneof(
  fc.constant<JobEvent>({ type: 'answered', outcome: { kind: 'accepted', statusCode: 200 } }),
  wait.map(
    (ms): JobEvent => ({ type: 'answered', outcome: { kind: 'backpressure', statusCode: 503, retryAfterMs: ms } }),
  ),
  fc.constant<JobEvent>({ type: 'answered', outcome: { kind: 'failed', statusCode: null, error: 'timeout' } }),
  fc.constant<JobEvent>({ type: 'acked' }),
  fc.record({ type: fc.constant('nacked' as const), retryable: fc.boolean(), reason }),
  fc.record({
    type: fc.constant('deferred' as const),
    retryAfterMs: wait,
    scope: fc.constantFrom('queue', 'job'),
    reason,
  }),
  fc.constant<JobEvent>({ type: 'ack_timed_out' }),
  fc.constant<JobEvent>({ type: 'interrupted' }),
  fc.constant<JobEvent>({ type: 'lifetime_ended' }),
);
const anyStep = fc.record({
  event: anyEvent,
  rules: anyRules,
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
  pause: wait,
});

/** A job as the database would keep it. */
interface Stored {
  state: JobState;
  history: Omit<HistoryEntry, 'timestamp'>[];
  scheduledFor: number;
}

const anyJob: fc.Arbitrary<Stored> = fc
  .record({
    maxAttempts: fc.integer({ min: 1, max: 5 }),
    backoffType: fc.constantFrom('fixed' as const, 'exponential' as const),
    backoffDelay: fc.double({ min: 0, max: 3600, noNaN: true }),
  })
  .map((settings) => ({
    state: {
      ...settings,
      status: 'pending',
      attempts: 0,
      deferCount: 0,
      interruptions: 0,
      deliverBy: NOW + LIFETIME_MS,
      lastError: null,
      webhookStatusCode: null,
    },
    history: [],
    scheduledFor: NOW,
  }));

/** What the claim does in SQL. */
function claimed(job: Stored): Stored {
  return {
    ...job,
    state: { ...job.state, status: 'processing', attempts: job.state.attempts + 1, webhookStatusCode: null },
  };
}

function applied(job: Stored, t: Transition, now: number, answer: number | null): Stored {
  const { status, attempts, deferCount, interruptions, lastError } = t;
  return {
    state: { ...job.state, status, attempts, deferCount, interruptions, lastError, webhookStatusCode: answer },
    history: t.entry === null ? job.history : [...job.history, t.entry],
    scheduledFor: status === 'pending' ? now + t.waitMs : job.scheduledFor,
  };
}

const ALLOWED: Record<string, string[]> = {
  pending: ['dead'],
  processing: ['pending', 'awaiting_ack', 'completed', 'dead'],
  awaiting_ack: ['pending', 'completed', 'dead'],
};

function check(before: Stored, t: Transition, after: Stored, now: number): void {
  const { state, history } = after;
  expect(ALLOWED[before.state.status]).toContain(state.status);
  expect(state.attempts).toBeGreaterThanOrEqual(0);
  expect(state.attempts).toBeLessThanOrEqual(state.maxAttempts);
  expect(state.interruptions).toBeLessThan(MAX_INTERRUPTIONS);
  expect(Number.isFinite(t.waitMs) && t.waitMs >= 0).toBe(true);
  if (state.status === 'pending' && t.waitMs > 0) expect(now + t.waitMs).toBeLessThanOrEqual(state.deliverBy);
  expect(t.deadReason !== null).toBe(state.status === 'dead');
  const counted = history.filter((entry) => entry.status !== 'deferred').length;
  if (state.status !== 'awaiting_ack') expect(state.attempts).toBe(counted);
  const killed = t.deadReason === 'defer_cap_exhausted' || t.deadReason === 'retry_after_exceeds_lifetime';
  expect(state.deferCount).toBe(history.filter((entry) => entry.status === 'deferred').length - (killed ? 1 : 0));
  const numbers = history.map((entry) => entry.attempt);
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
  for (const number of numbers) expect(number >= 1 && number <= state.maxAttempts).toBe(true);
}

it('keeps the invariants over any sequence of events', () => {
  fc.assert(
    fc.property(anyJob, fc.array(anyStep, { maxLength: 60 }), (start, steps) => {
      let job = start;
      let now = NOW;
      for (const { event, rules, random, pause } of steps) {
        now += pause;
        const due = job.state.status === 'pending' && now >= job.scheduledFor && now < job.state.deliverBy;
        if (due && event.type !== 'lifetime_ended') job = claimed(job);
        const t = transition(job.state, rules, event, { now, random });
        if (job.state.status === 'completed' || job.state.status === 'dead') expect(t).toBeNull();
        if (t === null) continue;
        const answer = t.status === 'awaiting_ack' ? 200 : null;
        const next = applied(job, t, now, answer);
        check(job, t, next, now);
        job = next;
      }
    }),
    { numRuns: 2000 },
  );
});

it('ends a job that kills every worker', () => {
  fc.assert(
    fc.property(anyJob, anyRules, (start, rules) => {
      let job = start;
      let claims = 0;
      while (job.state.status === 'pending') {
        job = claimed(job);
        claims += 1;
        const t = transition(job.state, rules, { type: 'interrupted' }, { now: NOW, random: 0 });
        if (t === null) throw new Error('an interruption was refused');
        job = applied(job, t, NOW, null);
        expect(claims).toBeLessThanOrEqual(start.state.maxAttempts * MAX_INTERRUPTIONS);
      }
      expect(job.state.status).toBe('dead');
    }),
  );
});
