import { describe, expect, it } from 'vitest';
import { assertBreaker } from '../../src/domain/breaker.ts';
import {
  type DeliveryRules,
  type JobEvent,
  type JobState,
  type Transition,
  transition,
} from '../../src/domain/transition.ts';
import { accepted, ackRules, backpressure, failed, HOUR, job, NOW, rules } from '../support/job-states.ts';

/** The meaning of an answer for the breaker of a queue, and the price of a failed probe for its job. */

const breaker = (of: DeliveryRules = rules()): DeliveryRules => ({ ...of, hasBreaker: true });
const probe = (of?: DeliveryRules): DeliveryRules => ({ ...breaker(of), isProbe: true });
const moment = { now: NOW, random: 0 };
const after = (state: JobState, by: DeliveryRules, event: JobEvent): Transition => {
  const decided = transition(state, by, event, moment);
  if (decided === null) throw new Error('refused');
  return decided;
};
const answered = (statusCode: number, retryAfterMs = 5000): JobEvent => ({
  type: 'answered',
  outcome: { kind: 'backpressure', statusCode, retryAfterMs },
});
const permanent: JobEvent = {
  type: 'answered',
  outcome: { kind: 'failed', statusCode: 422, error: 'HTTP 422', isPermanent: true },
};

describe('the meaning of an answer', () => {
  it.each([
    ['2xx', breaker(), accepted, { kind: 'alive' }],
    ['2xx in ack mode: the attempt goes on', breaker(ackRules()), accepted, { kind: 'accepted' }],
    ['a failure', breaker(), failed, { kind: 'failing', ms: null }],
    ['a final failure', breaker(), permanent, { kind: 'failing', ms: null }],
    ['503', breaker(), answered(503), { kind: 'failing', ms: null }],
    ['429, which tells neither', breaker(), answered(429), null],
    ['529, which tells neither', breaker(), answered(529), null],
    ['503 to a probe, with the hold that it asks for', probe(), answered(503), { kind: 'failing', ms: 5000 }],
    ['429 to a probe', probe(), answered(429), { kind: 'hold', ms: 5000 }],
    ['a lost worker', breaker(), { type: 'interrupted' }, null],
  ] as const)('is told to the breaker: %s', (_what, by, event, effect) => {
    expect(after(job(), by, event).queueEffect).toEqual(effect);
  });

  it.each([accepted, failed, answered(503), answered(429)])(
    'is all that the breaker changes, unless a probe fails: %j',
    (event) => {
      const { queueEffect: _, ...decided } = after(job(), breaker(), event);
      expect(after(job(), rules(), event)).toMatchObject(decided);
    },
  );
});

describe('a probe that fails', () => {
  const last = job({ attempts: 3, maxAttempts: 3 });

  it('uses up no attempt, not even the last one, and its job waits for its back-off', () => {
    expect(after(last, probe(), failed)).toMatchObject({
      status: 'pending',
      attempts: 2,
      deferCount: 0,
      deadReason: null,
      isBilled: true,
      lastError: 'HTTP 500',
      entry: { attempt: 3, status: 'deferred', error: 'HTTP 500', webhookStatusCode: 500 },
    });
    expect(after(last, probe(), failed).waitMs).toBeGreaterThan(0);
  });

  it('uses up no hold after a 503, not even the last one', () => {
    const held = job({ deferCount: 50 });
    expect(after(held, rules({ maxDefers: 50 }), answered(503))).toMatchObject({ status: 'dead' });
    expect(after(held, probe(rules({ maxDefers: 50 })), answered(503))).toMatchObject({
      status: 'pending',
      deferCount: 50,
      waitMs: 5000,
      deadReason: null,
      entry: { status: 'deferred', error: 'HTTP 503', webhookStatusCode: 503 },
    });
  });

  it('dies as it would have when its receiver says that it is final, or when its lifetime is over', () => {
    expect(after(last, probe(), permanent)).toMatchObject({ status: 'dead', deadReason: 'nacked' });
    const late = job({ attempts: 1, deliverBy: NOW + 1 });
    expect(after(late, probe(), failed)).toMatchObject({ status: 'dead', deadReason: 'delivery_lifetime_exceeded' });
    const hour = answered(503, HOUR);
    expect(after(late, probe(), hour)).toMatchObject({ status: 'dead', deadReason: 'retry_after_exceeds_lifetime' });
  });

  it('waits for no longer than a probe does, and for half of what is left when it would not live to be tried again', () => {
    const slow = job({ backoffDelay: 3600 });
    expect(after(slow, probe(), failed)).toMatchObject({ status: 'pending', waitMs: 300_000 });
    const short = { status: 'pending', waitMs: 40_000, deadReason: null };
    expect(after({ ...slow, deliverBy: NOW + 80_000 }, probe(), failed)).toMatchObject(short);
    for (const asked of [80_000, HOUR, 100 * HOUR])
      expect(after({ ...slow, deliverBy: NOW + 80_000 }, probe(), answered(503, asked))).toMatchObject(short);
    // A receiver that asks for less than the lifetime has it.
    expect(after(slow, probe(), answered(503, HOUR))).toMatchObject({ status: 'pending', waitMs: HOUR });
  });

  it('costs an attempt in a queue without a breaker', () => {
    expect(after(last, { ...rules(), isProbe: true }, failed)).toMatchObject({ status: 'dead', attempts: 3 });
    expect(after(job(), { ...rules(), isProbe: true }, backpressure(0))).toMatchObject({ deferCount: 1 });
  });
});

describe('the settings', () => {
  it.each([
    [{ failures: null, seconds: null }, 'breaker'],
    [{ failures: 1, seconds: null }, 'breaker.failures'],
    [{ failures: 1001, seconds: null }, 'breaker.failures'],
    [{ failures: 2.5, seconds: null }, 'breaker.failures'],
    [{ failures: Number.NaN, seconds: 5 }, 'breaker.failures'],
    [{ failures: 2, seconds: 0 }, 'breaker.seconds'],
    [{ failures: null, seconds: 3601 }, 'breaker.seconds'],
  ])('%j are refused: %s', (settings, field) => {
    expect(() => assertBreaker(settings)).toThrow(
      expect.objectContaining({ fields: { [field]: [expect.any(String)] } }),
    );
  });

  it.each([
    { failures: 2, seconds: null },
    { failures: 1000, seconds: 3600 },
    { failures: null, seconds: 1 },
  ])('%j are taken', (settings) => {
    expect(() => assertBreaker(settings)).not.toThrow();
  });
});
