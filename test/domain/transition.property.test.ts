import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs } from '../../src/domain/backoff.ts';
import { DEAD_REASONS, type DeadReason, type JobStatus } from '../../src/domain/job.ts';
import {
  type DeliveryRules,
  type JobEvent,
  type JobState,
  MAX_INTERRUPTIONS,
  type Moment,
  type Transition,
  type TransitionEntry,
  transition,
} from '../../src/domain/transition.ts';
import { accepted, backpressure, deferred, HOUR, NOW, nacked, noAnswer } from '../support/job-states.ts';

const LIFETIME_MS = 24 * HOUR;
const acked: JobEvent = { type: 'acked' };
const ackTimedOut: JobEvent = { type: 'ack_timed_out' };
const permanent: JobEvent = {
  type: 'answered',
  outcome: { kind: 'failed', statusCode: 422, error: 'HTTP 422', isPermanent: true },
};
const interrupted: JobEvent = { type: 'interrupted' };
const lifetimeEnded: JobEvent = { type: 'lifetime_ended' };
const cancelled: JobEvent = { type: 'cancelled' };

const anyRules: fc.Arbitrary<DeliveryRules> = fc.record({
  mode: fc.constantFrom('standard', 'ack', 'ack'),
  maxDefers: fc.integer({ min: 0, max: 6 }),
  ackTimeout: fc.double({ min: 0.001, max: 86_400, noNaN: true }),
  ackTimeoutAction: fc.constantFrom('retry', 'dead'),
  isProbe: fc.boolean(),
});
// Mostly short, or no job would live long enough to use up its attempts or its holds.
const wait = fc.oneof(
  { weight: 10, arbitrary: fc.integer({ min: 0, max: 120_000 }) },
  { weight: 10, arbitrary: fc.constantFrom(0, 1, 999, 1000) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 2 * LIFETIME_MS }) },
);
const reason = fc.option(fc.string({ maxLength: 5 }), { nil: null });
const ofProcessing: fc.Arbitrary<JobEvent> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(accepted) },
  { weight: 3, arbitrary: fc.constant(noAnswer) },
  { weight: 1, arbitrary: fc.constant(permanent) },
  { weight: 3, arbitrary: wait.map(backpressure) },
  { weight: 2, arbitrary: fc.constant(interrupted) },
);
const ofAwaitingAck: fc.Arbitrary<JobEvent> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(acked) },
  { weight: 4, arbitrary: fc.tuple(fc.integer({ max: 4, min: 0 }), reason).map(([n, why]) => nacked(n > 0, why)) },
  { weight: 4, arbitrary: fc.tuple(wait, fc.constantFrom('queue', 'job'), reason).map((asked) => deferred(...asked)) },
  { weight: 2, arbitrary: fc.constant(ackTimedOut) },
  { weight: 1, arbitrary: fc.constant(cancelled) },
);
const anyEvent: fc.Arbitrary<JobEvent> = fc.oneof(
  ofProcessing,
  ofAwaitingAck,
  fc.constant(lifetimeEnded),
  fc.constant<JobEvent>({ type: 'queue_deleted' }),
  fc.constant(cancelled),
);

const anyStep = fc.record({
  rules: anyRules,
  random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  pause: wait,
  untilDue: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  // Events that fit the job's state, and now and then one that may not.
  ofProcessing,
  ofAwaitingAck,
  stray: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: anyEvent }),
});

/** A job as the database would keep it. */
interface Stored {
  state: JobState;
  /** As they were at the last claim (D5). */
  rules: DeliveryRules;
  history: TransitionEntry[];
  /** Requested milliseconds of the last holds without another outcome in between. */
  holds: number[];
  scheduledFor: number;
}

const anyJob: fc.Arbitrary<JobState> = fc
  .record({
    maxAttempts: fc.integer({ min: 1, max: 6 }),
    backoffType: fc.constantFrom('fixed' as const, 'exponential' as const),
    backoffDelay: fc.double({ min: 0, max: 3600, noNaN: true }),
    interruptions: fc.integer({ min: 0, max: MAX_INTERRUPTIONS - 1 }),
  })
  .map((settings) => ({
    ...settings,
    status: 'pending',
    attempts: 0,
    deferCount: 0,
    shortHolds: 0,
    deliverBy: NOW + LIFETIME_MS,
    lastError: null,
    webhookStatusCode: null,
  }));

/** The effect of the claim in SQL. */
function claimed(job: Stored, rules: DeliveryRules): Stored {
  return { ...job, rules, state: { ...job.state, status: 'processing', attempts: job.state.attempts + 1 } };
}

/** The effect of a settle in SQL. */
function settled(job: Stored, event: JobEvent, t: Transition, now: number): Stored {
  const { status, attempts, deferCount, shortHolds, interruptions, lastError } = t;
  const asked = holdAskedFor(event);
  const webhookStatusCode = status === 'awaiting_ack' ? accepted.outcome.statusCode : null;
  return {
    ...job,
    state: { ...job.state, status, attempts, deferCount, shortHolds, interruptions, lastError, webhookStatusCode },
    history: t.entry === null ? job.history : [...job.history, t.entry],
    holds: asked !== null ? [...job.holds, asked.ms] : t.entry === null ? job.holds : [],
    scheduledFor: status === 'pending' ? now + t.waitMs : job.scheduledFor,
  };
}

function holdAskedFor(event: JobEvent): { ms: number; scope: 'queue' | 'job' } | null {
  if (event.type === 'deferred') return { ms: event.retryAfterMs, scope: event.scope };
  if (event.type !== 'answered' || event.outcome.kind !== 'backpressure') return null;
  return { ms: event.outcome.retryAfterMs, scope: 'job' };
}

/** D6, from the events' side. */
function grantedMs(holds: readonly number[], askedMs: number): number {
  const inARow = holds.length - 1 - holds.findLastIndex((ms) => ms >= 1000);
  if (askedMs >= 1000 || inARow < 3) return askedMs;
  return ([1, 2, 4, 8, 16, 32][inARow - 3] ?? 60) * 1000;
}

function isTakenBack({ interruptions }: JobState, event: JobEvent): boolean {
  return event.type === 'interrupted' && interruptions + 1 < MAX_INTERRUPTIONS;
}

/** The reasons of the spec, D7, D8, D9, D10, D17 and D39, written down once more and from the events' side. */
function reasonToDie({ state, rules, holds }: Stored, event: JobEvent, { now, random }: Moment): DeadReason | null {
  const held = holdAskedFor(event);
  if (held !== null) {
    if (state.deferCount >= rules.maxDefers) return 'defer_cap_exhausted';
    return now + grantedMs(holds, held.ms) > state.deliverBy ? 'retry_after_exceeds_lifetime' : null;
  }
  if (event.type === 'queue_deleted') return 'queue_deleted';
  if (event.type === 'cancelled') return 'cancelled';
  if (event.type === 'lifetime_ended') return 'delivery_lifetime_exceeded';
  if (event.type === 'nacked' && !event.retryable) return 'nacked';
  if (event.type === 'answered' && event.outcome.kind === 'failed' && event.outcome.isPermanent) return 'nacked';
  if (event.type === 'ack_timed_out' && rules.ackTimeoutAction === 'dead') return 'ack_timeout';
  const succeeds = event.type === 'acked' || (event.type === 'answered' && event.outcome.kind === 'accepted');
  if (succeeds || isTakenBack(state, event)) return null;
  if (state.attempts === state.maxAttempts) return 'attempts_exhausted';
  const retryAt = now + backoffMs(state.backoffType, state.backoffDelay, state.attempts, random);
  return retryAt > state.deliverBy ? 'delivery_lifetime_exceeded' : null;
}

const MOVES: Record<JobStatus, JobStatus[]> = {
  pending: ['dead'],
  processing: ['pending', 'awaiting_ack', 'completed', 'dead'],
  awaiting_ack: ['pending', 'completed', 'dead'],
  completed: [],
  dead: [],
};

function checkStep(before: Stored, event: JobEvent, moment: Moment, t: Transition, after: Stored): void {
  const { state, history, rules } = after;
  const wasInFlight = before.state.status !== 'pending';
  const held = holdAskedFor(event);
  assert(MOVES[before.state.status].includes(t.status), `${before.state.status} -> ${t.status}`);
  assert.equal(t.deadReason, reasonToDie(before, event, moment));
  assert.equal(t.status === 'dead', t.deadReason !== null);
  // Not while the request is on the wire.
  if (t.deadReason === 'cancelled') assert.notEqual(before.state.status, 'processing');

  assert(Number.isFinite(t.waitMs) && t.waitMs >= 0, `waits ${t.waitMs} ms`);
  if (t.status === 'pending' && t.waitMs > 0) assert(moment.now + t.waitMs <= state.deliverBy, 'past the lifetime');
  if (t.status === 'completed' || t.status === 'dead') assert.equal(t.waitMs, 0);
  if (held !== null && t.status === 'pending') assert.equal(t.waitMs, grantedMs(before.holds, held.ms));

  assert(t.attempts >= 0 && t.attempts <= state.maxAttempts);
  const counted = history.filter((entry) => entry.status !== 'deferred').length;
  assert.equal(t.attempts, t.status === 'awaiting_ack' ? counted + 1 : counted);
  if (held !== null || isTakenBack(before.state, event)) assert.equal(t.attempts, before.state.attempts - 1);

  const holds = history.filter((entry) => entry.status === 'deferred').length;
  assert.equal(t.deferCount, held !== null && t.status === 'dead' ? holds - 1 : holds);
  if (t.deferCount > before.state.deferCount) assert(t.deferCount <= rules.maxDefers);
  assert(t.interruptions < MAX_INTERRUPTIONS);

  const endsAttempt = wasInFlight && t.status !== 'awaiting_ack' && !isTakenBack(before.state, event);
  assert.equal(t.entry !== null, endsAttempt);
  assert.equal(t.entry?.attempt ?? before.state.attempts, before.state.attempts);
  assert(history.every(({ attempt }) => attempt >= 1 && attempt <= state.maxAttempts));
  assert(history.every(({ attempt }, i) => attempt >= (history[i - 1]?.attempt ?? 1)));

  // D14: a hold for a hold, and any other end of the probe lets the queue resume.
  const ends = wasInFlight && t.status !== 'awaiting_ack';
  if (!ends || (held === null && !rules.isProbe)) assert.equal(t.queueEffect, null);
  else if (held === null) assert.deepEqual(t.queueEffect, { kind: 'resume' });
  else if (rules.isProbe) assert.equal(t.queueEffect?.kind, 'hold');
  else if (held.scope === 'job') assert.equal(t.queueEffect, null);
  else assert.equal(t.queueEffect !== null, held.ms <= LIFETIME_MS);
  if (t.queueEffect?.kind === 'hold') assert(t.queueEffect.ms >= 0 && t.queueEffect.ms <= LIFETIME_MS);
}

it('keeps the invariants over any sequence of events', () => {
  const reached = new Set<string>();
  fc.assert(
    fc.property(
      anyJob,
      anyRules,
      fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }),
      (state, first, steps) => {
        let job: Stored = { state, rules: first, history: [], holds: [], scheduledFor: NOW };
        let now = NOW;
        for (const step of steps) {
          now = Math.max(now + step.pause, step.untilDue ? job.scheduledFor : 0);
          const isDue = job.state.status === 'pending' && now >= job.scheduledFor && now < job.state.deliverBy;
          if (isDue && step.stray === null) job = claimed(job, step.rules);
          const suits = { processing: step.ofProcessing, awaiting_ack: step.ofAwaitingAck, pending: lifetimeEnded };
          const { status } = job.state;
          const isTerminal = status === 'completed' || status === 'dead';
          const event = step.stray ?? (isTerminal ? step.ofProcessing : suits[status]);
          const moment = { now, random: step.random };
          const t = transition(job.state, job.rules, event, moment);
          if (isTerminal) assert.equal(t, null);
          if (t === null) continue;
          const next = settled(job, event, t, now);
          checkStep(job, event, moment, t, next);
          job = next;
          reached.add(t.deadReason ?? t.status).add(`attempt ${t.entry?.attempt ?? 0}`);
        }
      },
    ),
    { numRuns: 2000 },
  );
  // Otherwise the invariants would hold because little happened.
  const expected = [...DEAD_REASONS, 'completed', 'pending', 'awaiting_ack', 'attempt 5'];
  expect([...reached]).toEqual(expect.arrayContaining(expected));
});

it('ends a job that kills every worker', () => {
  fc.assert(
    fc.property(anyJob, anyRules, (state, rules) => {
      let job: Stored = { state: { ...state, interruptions: 0 }, rules, history: [], holds: [], scheduledFor: NOW };
      let claims = 0;
      while (job.state.status === 'pending') {
        job = claimed(job, rules);
        claims += 1;
        assert(claims <= state.maxAttempts * MAX_INTERRUPTIONS, 'the job loops');
        const t = transition(job.state, rules, interrupted, { now: NOW, random: 0 });
        assert(t !== null);
        job = settled(job, interrupted, t, NOW);
      }
      // Time stands still here, so that nothing but the attempts can end it.
      assert.equal(job.state.status, 'dead');
      assert.equal(claims, state.maxAttempts * MAX_INTERRUPTIONS);
      assert.deepEqual(
        job.history.map((entry) => entry.error),
        Array(state.maxAttempts).fill('worker_lost'),
      );
    }),
  );
});

it('lets short holds in a row grow, whatever length is requested', () => {
  const rules: DeliveryRules = {
    mode: 'standard',
    maxDefers: 1000,
    ackTimeout: 1,
    ackTimeoutAction: 'retry',
    isProbe: false,
  };
  const asked = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 0, max: 999 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1000, max: 5000 }) },
  );
  let longest = 0;
  fc.assert(
    fc.property(anyJob, fc.array(asked, { minLength: 1, maxLength: 30, size: 'max' }), (state, waits) => {
      let job: Stored = { state, rules, history: [], holds: [], scheduledFor: NOW };
      for (const ms of waits) {
        const event = backpressure(ms);
        job = claimed(job, rules);
        const t = transition(job.state, rules, event, { now: NOW, random: 0 });
        assert(t !== null);
        assert.equal(t.waitMs, grantedMs(job.holds, ms));
        longest = Math.max(longest, t.waitMs);
        job = settled(job, event, t, NOW);
      }
    }),
  );
  expect(longest).toBe(60_000);
});
