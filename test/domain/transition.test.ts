import { describe, expect, it } from 'vitest';
import type { JobStatus } from '../../src/domain/job.ts';
import { JOB_STATUSES } from '../../src/domain/job.ts';
import { type DeliveryRules, type JobEvent, type JobState, transition } from '../../src/domain/transition.ts';
import {
  accepted,
  ackRules,
  awaiting,
  backpressure,
  deferred,
  type Expected,
  failed,
  HOUR,
  job,
  NOW,
  nacked,
  noAnswer,
  rules,
} from '../support/job-states.ts';

const DAY = 24 * HOUR;
const entry = (
  status: 'success' | 'failed' | 'nacked' | 'deferred',
  error: string | null,
  code: number | null,
  attempt = 1,
) => ({
  attempt,
  status,
  error,
  webhookStatusCode: code,
});
const hold = (ms: number) => ({ kind: 'hold', ms }) as const;
const resume = { kind: 'resume' } as const;
const acked = { type: 'acked' } as const;
const ackTimedOut = { type: 'ack_timed_out' } as const;
const interrupted = { type: 'interrupted' } as const;
const unsent = { type: 'unsent', error: 'proxy_unreachable', waitMs: 7000 } as const;
const cancelled = { type: 'cancelled' } as const;

type Case = [rule: string, job: JobState, rules: DeliveryRules, event: JobEvent, expected: Expected];

const CASES: Case[] = [
  // Rows of the spec's "States and transitions", in its order.
  [
    '2xx, standard mode',
    job(),
    rules(),
    accepted,
    { status: 'completed', attempts: 1, entry: entry('success', null, 200), queueEffect: null },
  ],
  ['2xx, ack mode', job(), ackRules(), accepted, { status: 'awaiting_ack', waitMs: 300_000, entry: null, attempts: 1 }],
  ['ack', awaiting(), ackRules(), acked, { status: 'completed', entry: entry('success', null, 202) }],
  [
    'nack, retryable',
    awaiting(),
    ackRules(),
    nacked(true, 'busy'),
    { status: 'pending', attempts: 1, waitMs: 10_000, lastError: 'busy', entry: entry('nacked', 'busy', 202) },
  ],
  [
    'nack, not retryable',
    awaiting(),
    ackRules(),
    nacked(false, 'bad'),
    { status: 'dead', deadReason: 'nacked', lastError: 'bad', entry: entry('nacked', 'bad', 202) },
  ],
  [
    'defer, scope queue',
    awaiting(),
    ackRules(),
    deferred(5000),
    {
      status: 'pending',
      waitMs: 5000,
      attempts: 0,
      deferCount: 1,
      queueEffect: hold(5000),
      entry: entry('deferred', null, 202),
    },
  ],
  [
    'defer, scope job',
    awaiting(),
    ackRules(),
    deferred(5000, 'job', 'later'),
    { status: 'pending', waitMs: 5000, queueEffect: null, lastError: 'later' },
  ],
  [
    'backpressure answer',
    job(),
    rules(),
    backpressure(7000),
    {
      status: 'pending',
      waitMs: 7000,
      attempts: 0,
      deferCount: 1,
      queueEffect: null,
      entry: entry('deferred', 'HTTP 429', 429),
    },
  ],
  [
    'other non-2xx, attempts remain',
    job(),
    rules(),
    failed,
    { status: 'pending', attempts: 1, waitMs: 10_000, lastError: 'HTTP 500', entry: entry('failed', 'HTTP 500', 500) },
  ],
  [
    'an answer that says that the failure is final (D39)',
    job(),
    rules(),
    { type: 'answered', outcome: { kind: 'failed', statusCode: 422, error: 'HTTP 422', isPermanent: true } },
    {
      status: 'dead',
      attempts: 1,
      deadReason: 'nacked',
      lastError: 'HTTP 422',
      entry: entry('failed', 'HTTP 422', 422),
      queueEffect: null,
    },
  ],
  [
    'no answer, attempts remain',
    job(),
    rules(),
    noAnswer,
    { status: 'pending', entry: entry('failed', 'timeout', null) },
  ],
  [
    'failure, attempts exhausted',
    job({ attempts: 3 }),
    rules(),
    failed,
    {
      status: 'dead',
      deadReason: 'attempts_exhausted',
      lastError: 'HTTP 500',
      entry: entry('failed', 'HTTP 500', 500, 3),
    },
  ],
  [
    'defer budget spent by an answer',
    job({ deferCount: 2 }),
    rules(),
    backpressure(1),
    {
      status: 'dead',
      deadReason: 'defer_cap_exhausted',
      deferCount: 2,
      attempts: 0,
      lastError: 'defer_cap_exhausted',
      entry: entry('deferred', 'defer_cap_exhausted', 429),
    },
  ],
  [
    'ack timeout, action retry',
    awaiting(),
    ackRules(),
    ackTimedOut,
    { status: 'pending', attempts: 1, waitMs: 10_000, entry: entry('failed', 'ack_timeout', 202) },
  ],
  [
    'ack timeout, action dead',
    awaiting(),
    ackRules({ ackTimeoutAction: 'dead' }),
    ackTimedOut,
    { status: 'dead', deadReason: 'ack_timeout', lastError: 'ack_timeout' },
  ],
  // Cases that the spec leaves open.
  [
    'D7: the last hold of the budget is allowed',
    job({ deferCount: 1 }),
    rules(),
    backpressure(1),
    { status: 'pending', deferCount: 2 },
  ],
  [
    'D7: maxDefers 0 allows none',
    job(),
    rules({ maxDefers: 0 }),
    backpressure(0),
    { status: 'dead', deadReason: 'defer_cap_exhausted' },
  ],
  [
    'D7: a defer call spends the same budget',
    awaiting({ deferCount: 2 }),
    ackRules(),
    deferred(1000),
    { status: 'dead', deadReason: 'defer_cap_exhausted', queueEffect: hold(1000) },
  ],
  ['D8: a hold to the last moment', job(), rules(), backpressure(DAY - 1), { status: 'pending', waitMs: DAY - 1 }],
  ['D8: a hold to the very end', job(), rules(), backpressure(DAY), { deadReason: 'retry_after_exceeds_lifetime' }],
  [
    'D8: a hold past the lifetime',
    job(),
    rules(),
    backpressure(DAY + 1),
    {
      status: 'dead',
      deadReason: 'retry_after_exceeds_lifetime',
      deferCount: 0,
      attempts: 0,
      entry: entry('deferred', 'retry_after_exceeds_lifetime', 429),
    },
  ],
  [
    'D8: a defer past the lifetime does not hold the queue',
    awaiting(),
    ackRules(),
    deferred(DAY + 1),
    { status: 'dead', queueEffect: null },
  ],
  [
    'D8: a retry past the lifetime',
    job({ deliverBy: NOW + 9999 }),
    rules(),
    failed,
    {
      status: 'dead',
      deadReason: 'delivery_lifetime_exceeded',
      entry: entry('failed', 'delivery_lifetime_exceeded', 500),
    },
  ],
  [
    'D8: undelivered at its end',
    job({ status: 'pending', attempts: 0, deliverBy: NOW }),
    rules(),
    { type: 'lifetime_ended' },
    { status: 'dead', deadReason: 'delivery_lifetime_exceeded', entry: null, lastError: 'delivery_lifetime_exceeded' },
  ],
  [
    'D9: ack timeout on the last attempt',
    awaiting({ attempts: 3 }),
    ackRules(),
    ackTimedOut,
    { status: 'dead', deadReason: 'attempts_exhausted', lastError: 'ack_timeout' },
  ],
  [
    'D10: nack on the last attempt',
    awaiting({ attempts: 3 }),
    ackRules(),
    nacked(true),
    { status: 'dead', deadReason: 'attempts_exhausted', lastError: 'nacked', entry: entry('nacked', null, 202, 3) },
  ],
  ['D14: the probe succeeds', job(), rules({ isProbe: true }), accepted, { status: 'completed', queueEffect: resume }],
  ['D14: the probe fails', job(), rules({ isProbe: true }), failed, { status: 'pending', queueEffect: resume }],
  [
    'D14: the probe meets backpressure',
    job(),
    rules({ isProbe: true }),
    backpressure(3000),
    { status: 'pending', queueEffect: hold(3000) },
  ],
  [
    'D14: the probe requests a hold longer than its lifetime',
    job(),
    rules({ isProbe: true }),
    backpressure(DAY * 2),
    { status: 'dead', queueEffect: hold(60_000) },
  ],
  [
    'D14: the probe is deferred, job scope',
    awaiting(),
    ackRules({ isProbe: true }),
    deferred(3000, 'job'),
    { status: 'pending', queueEffect: hold(3000) },
  ],
  [
    'D14: the probe is confirmed, which decides nothing',
    job(),
    ackRules({ isProbe: true }),
    accepted,
    { status: 'awaiting_ack', queueEffect: null },
  ],
  [
    'D14: the probe is acked',
    awaiting(),
    ackRules({ isProbe: true }),
    acked,
    { status: 'completed', queueEffect: resume },
  ],
  [
    'D14: the probe is nacked for good',
    awaiting(),
    ackRules({ isProbe: true }),
    nacked(false),
    { status: 'dead', queueEffect: resume },
  ],
  [
    'D14: the probe is not reported on',
    awaiting(),
    ackRules({ isProbe: true }),
    ackTimedOut,
    { status: 'pending', queueEffect: resume },
  ],
  [
    'D14: the probe loses its worker',
    job(),
    rules({ isProbe: true }),
    interrupted,
    { status: 'pending', queueEffect: resume },
  ],
  [
    'D2: a lost worker gives the attempt back',
    job({ attempts: 2 }),
    rules(),
    interrupted,
    { status: 'pending', attempts: 1, interruptions: 1, waitMs: 0, entry: null },
  ],
  [
    'D2: the tenth loss counts',
    job({ interruptions: 9 }),
    rules(),
    interrupted,
    { status: 'pending', attempts: 1, interruptions: 0, waitMs: 10_000, entry: entry('failed', 'worker_lost', null) },
  ],
  [
    'D2: the tenth loss of the last attempt',
    job({ attempts: 3, interruptions: 9 }),
    rules(),
    interrupted,
    { status: 'dead', deadReason: 'attempts_exhausted' },
  ],
  [
    'D38: a delivery that could not begin goes back without an attempt, however often',
    job({ attempts: 3, interruptions: 9, lastError: 'HTTP 500' }),
    rules({ isProbe: true }),
    unsent,
    {
      status: 'pending',
      attempts: 2,
      interruptions: 9,
      waitMs: 7000,
      lastError: 'proxy_unreachable',
      entry: null,
      queueEffect: resume,
    },
  ],
  [
    'D17: pending on a deleted queue',
    job({ status: 'pending', attempts: 0 }),
    rules(),
    { type: 'queue_deleted' },
    { status: 'dead', deadReason: 'queue_deleted', entry: null },
  ],
  ['the last but one attempt is retried', job({ attempts: 2 }), rules(), failed, { status: 'pending', attempts: 2 }],
  ['maxAttempts 1 allows no retry', job({ maxAttempts: 1 }), rules(), failed, { deadReason: 'attempts_exhausted' }],
  [
    'D4: the wait grows with the failures so far',
    job({ attempts: 2, backoffType: 'exponential' }),
    rules(),
    failed,
    { status: 'pending', waitMs: 20_000 },
  ],
  [
    'D7: a spent budget is the reason even if the hold is too long as well',
    job({ deferCount: 2 }),
    rules(),
    backpressure(DAY + 1),
    { status: 'dead', deadReason: 'defer_cap_exhausted' },
  ],
  [
    'D8: spent attempts are the reason even if the lifetime is over as well',
    job({ attempts: 3, deliverBy: NOW - 1 }),
    rules(),
    failed,
    { status: 'dead', deadReason: 'attempts_exhausted', lastError: 'HTTP 500' },
  ],
  ['D8: a retry at the last moment', job({ deliverBy: NOW + 10_001 }), rules(), failed, { status: 'pending' }],
  [
    'D8: a retry at the very end',
    job({ deliverBy: NOW + 10_000 }),
    rules(),
    failed,
    { deadReason: 'delivery_lifetime_exceeded' },
  ],
  [
    'D8: an ack after the lifetime still completes',
    awaiting({ deliverBy: NOW - 1 }),
    ackRules(),
    acked,
    { status: 'completed' },
  ],
  [
    'D9: ack timeout with action dead leaves a failed attempt',
    awaiting(),
    ackRules({ ackTimeoutAction: 'dead' }),
    ackTimedOut,
    { deadReason: 'ack_timeout', entry: entry('failed', 'ack_timeout', 202) },
  ],
  [
    'D12: a nack without reason',
    awaiting({ lastError: 'HTTP 500' }),
    ackRules(),
    nacked(true),
    { status: 'pending', lastError: 'nacked', entry: entry('nacked', null, 202) },
  ],
  [
    'D12: a defer without reason leaves the last error',
    awaiting({ lastError: 'HTTP 500' }),
    ackRules(),
    deferred(5000),
    { status: 'pending', lastError: 'HTTP 500', entry: entry('deferred', null, 202) },
  ],
  [
    'D14: a queue hold counts although its job cannot outlast it',
    awaiting({ deliverBy: NOW + HOUR }),
    ackRules(),
    deferred(2 * HOUR),
    { status: 'dead', deadReason: 'retry_after_exceeds_lifetime', queueEffect: hold(2 * HOUR) },
  ],
  [
    'D14: so does the backpressure of a probe that cannot outlast it',
    job({ deliverBy: NOW + HOUR }),
    rules({ isProbe: true }),
    backpressure(2 * HOUR),
    { status: 'dead', queueEffect: hold(2 * HOUR) },
  ],
  [
    'D14: a job hold never counts for the queue',
    awaiting({ deliverBy: NOW + HOUR }),
    ackRules(),
    deferred(2 * HOUR, 'job'),
    { status: 'dead', queueEffect: null },
  ],
  [
    'D2: the ninth loss is still given back',
    job({ interruptions: 8 }),
    rules(),
    interrupted,
    { status: 'pending', attempts: 0, interruptions: 9, entry: null },
  ],
  ['D2: a failure ends the row of losses', job({ interruptions: 9 }), rules(), failed, { interruptions: 0 }],
  ['D2: so does a success', job({ interruptions: 9 }), rules(), accepted, { interruptions: 0 }],
  ['D2: so does a hold', job({ interruptions: 9 }), rules(), backpressure(1), { interruptions: 0 }],
  ['D2: so does death', job({ interruptions: 9, attempts: 3 }), rules(), failed, { status: 'dead', interruptions: 0 }],
  [
    'D2: a worker lost past the lifetime leaves the end to the sweep',
    job({ deliverBy: NOW - 1 }),
    rules(),
    interrupted,
    { status: 'pending', attempts: 0, entry: null },
  ],
  [
    'cancelled while it waits: dead without an attempt',
    job({ status: 'pending', attempts: 1, deferCount: 1, lastError: 'HTTP 500' }),
    rules(),
    cancelled,
    {
      status: 'dead',
      attempts: 1,
      deferCount: 1,
      waitMs: 0,
      lastError: 'cancelled',
      entry: null,
      deadReason: 'cancelled',
      queueEffect: null,
    },
  ],
  [
    'cancelled at the end of its attempts and its lifetime all the same',
    job({ status: 'pending', attempts: 3, deliverBy: NOW - 1 }),
    rules(),
    cancelled,
    { status: 'dead', deadReason: 'cancelled' },
  ],
  [
    'cancelled while it awaits its report: that attempt has ended, and counts',
    awaiting({ interruptions: 2 }),
    ackRules(),
    cancelled,
    {
      status: 'dead',
      attempts: 1,
      interruptions: 0,
      lastError: 'cancelled',
      entry: entry('failed', 'cancelled', 202),
      deadReason: 'cancelled',
      queueEffect: null,
    },
  ],
  [
    'D14: a cancelled probe lets the queue resume',
    awaiting(),
    ackRules({ isProbe: true }),
    cancelled,
    { status: 'dead', queueEffect: resume },
  ],
  [
    'an error stays the last one until another comes',
    job({ lastError: 'HTTP 500' }),
    rules(),
    accepted,
    { status: 'completed', lastError: 'HTTP 500' },
  ],
];

describe('transition', () => {
  it.each(CASES)('%s', (_rule, state, queue, event, expected) => {
    expect(transition(state, queue, event, { now: NOW, random: 0 })).toMatchObject(expected);
  });

  it('passes chance on to the backoff (D4)', () => {
    expect(transition(job(), rules(), failed, { now: NOW, random: 0.5 })).toMatchObject({ waitMs: 10_500 });
  });

  const EVENTS: [JobEvent, ...JobStatus[]][] = [
    [accepted, 'processing'],
    [interrupted, 'processing'],
    [unsent, 'processing'],
    [acked, 'awaiting_ack'],
    [nacked(true), 'awaiting_ack'],
    [deferred(1), 'awaiting_ack'],
    [ackTimedOut, 'awaiting_ack'],
    [{ type: 'lifetime_ended' }, 'pending'],
    [{ type: 'queue_deleted' }, 'pending'],
    [cancelled, 'pending', 'awaiting_ack'],
  ];
  const right = EVENTS.flatMap(([event, ...statuses]) =>
    statuses.map((status) => [event.type, status, event] as const),
  );
  it.each(right)('takes %s of a job that is %s', (_type, status, event) => {
    expect(transition(job({ status, deliverBy: NOW - 1 }), ackRules(), event, { now: NOW, random: 0 })).not.toBeNull();
  });

  const wrong = EVENTS.flatMap(([event, ...statuses]) =>
    JOB_STATUSES.filter((status) => !statuses.includes(status)).map((status) => [event.type, status, event] as const),
  );
  it.each(wrong)('refuses %s of a job that is %s', (_type, status, event) => {
    expect(transition(job({ status, deliverBy: NOW - 1 }), ackRules(), event, { now: NOW, random: 0 })).toBeNull();
  });

  it('refuses to end a lifetime that goes on', () => {
    const waiting = job({ status: 'pending', deliverBy: NOW + 1 });
    expect(transition(waiting, rules(), { type: 'lifetime_ended' }, { now: NOW, random: 0 })).toBeNull();
  });
});

describe('D6: holds of less than a second in a row', () => {
  /** Returns the granted length of each requested hold, in seconds; null is a failed attempt in between. */
  function granted(asked: readonly (number | null)[]): (number | undefined)[] {
    let state = job({ maxAttempts: 25 });
    return asked.map((ms) => {
      const event = ms === null ? failed : backpressure(ms);
      const decided = transition(state, rules({ maxDefers: 1000 }), event, { now: NOW, random: 0 });
      state = { ...state, shortHolds: decided?.shortHolds ?? 0, deferCount: decided?.deferCount ?? 0 };
      return ms === null ? undefined : (decided?.waitMs ?? 0) / 1000;
    });
  }

  it('are three as requested, and then 1, 2, 4 … 60 s', () => {
    expect(granted(Array(12).fill(0))).toEqual([0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(granted([0, 999, 1, 999, 0])).toEqual([0, 0.999, 0.001, 1, 2]);
  });

  it('start again after a longer one, and after another outcome', () => {
    expect(granted([0, 0, 0, 0, 1000, 0])).toEqual([0, 0, 0, 1, 1, 0]);
    expect(granted([0, 0, 0, 0, null, 0, 0])).toEqual([0, 0, 0, 1, undefined, 0, 0]);
  });

  it('go on after a lost claim and a receipt that was confirmed', () => {
    for (const event of [{ type: 'interrupted' } as const, accepted]) {
      const state = job({ shortHolds: 7 });
      expect(transition(state, ackRules(), event, { now: NOW, random: 0 })?.shortHolds).toBe(7);
    }
  });

  it('hold the queue, too, if that was requested', () => {
    const decided = transition(awaiting({ shortHolds: 4 }), ackRules(), deferred(0), { now: NOW, random: 0 });
    expect(decided).toMatchObject({ waitMs: 2000, queueEffect: hold(2000) });
  });
});
