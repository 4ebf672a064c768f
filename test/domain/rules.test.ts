import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../src/domain/backoff.ts';
import { classify, retryAfterMs } from '../../src/domain/outcome.ts';
import {
  assertAccountConcurrency,
  assertPlanAllows,
  assertQueueCount,
  DEFAULT_PLANS,
  type Plan,
} from '../../src/domain/plan.ts';
import { NOW } from '../support/job-states.ts';

describe('backoffMs (D4)', () => {
  it.each([
    ['fixed', 2, 1, 0, 2000],
    ['fixed', 2, 9, 0, 2000],
    ['fixed', 2, 1, 0.5, 2100],
    ['fixed', 0, 3, 0.9, 0],
    ['exponential', 2, 1, 0, 2000],
    ['exponential', 2, 2, 0, 4000],
    ['exponential', 2, 5, 0, 32_000],
    ['exponential', 2, 24, 0, 3_600_000],
    ['exponential', 3600, 24, 0.5, 3_780_000],
    ['exponential', 0.001, 1, 0, 1],
    ['exponential', 2, 11, 0, 2_048_000],
    ['exponential', 2, 12, 0, 3_600_000],
    ['fixed', 0.001, 1, 0.5, 2],
  ] as const)('%s, %d s, failure %d, random %d: %d ms', (type, delay, failures, random, expected) => {
    expect(backoffMs(type, delay, failures, random)).toBe(expected);
  });
});

/** The two old forms of a date. */
const DATES: [string, number][] = [
  ['Saturday, 21-Nov-26 12:00:05 GMT', Date.UTC(2026, 10, 21, 12, 0, 5)],
  ['Sat Nov 21 12:00:05 2026', Date.UTC(2026, 10, 21, 12, 0, 5)],
  ['Sun Jan  2 12:00:05 2028', Date.UTC(2028, 0, 2, 12, 0, 5)],
  ['Friday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
  // 2077 would be more than 50 years ahead.
  ['Saturday, 01-Jan-77 00:00:00 GMT', NOW],
].map(([text, at]) => [String(text), Number(at) - NOW]);

describe('retryAfterMs (D6)', () => {
  it.each([
    [null, 60_000],
    ['', 60_000],
    ['abc', 60_000],
    ['0', 0],
    ['-1', 0],
    ['1.5', 1500],
    [' 7 ', 7000],
    ['1.0001', 1001],
    ['-1.5', 0],
    ['+5', 60_000],
    ['5 s', 60_000],
    ['5, 10', 60_000],
    ['\u0663', 60_000],
    ['1e3', 60_000],
    ['0x10', 60_000],
    ['Infinity', 60_000],
    ['3000000', 3_000_000_000],
    ['1'.padEnd(16, '0'), 1e18],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
    [new Date(NOW + 5000).toUTCString(), 5000],
    [new Date(NOW - 5000).toUTCString(), 0],
    ['2026-11-21T12:00:05Z', 60_000],
    ...DATES,
    ['Monday, 21-Nov-26 12:00:05 UTC', 60_000],
    ['Sat Nov 21 12:00:05 2026 GMT', 60_000],
    ['Saturday, 99-Nov-26 12:00:00 GMT', 60_000],
    ['Sat, 99 Nov 2026 12:00:00 GMT', 60_000],
  ])('%j means %d ms', (header, expected) => {
    expect(retryAfterMs(header, NOW)).toBe(expected);
  });
});

describe('classify', () => {
  it.each([
    [200, 'accepted'],
    [204, 'accepted'],
    [299, 'accepted'],
    [199, 'failed'],
    [300, 'failed'],
    [302, 'failed'],
    [401, 'failed'],
    [404, 'failed'],
    [429, 'backpressure'],
    [500, 'failed'],
    [502, 'failed'],
    [503, 'backpressure'],
    [529, 'backpressure'],
    [999, 'failed'],
  ])('%d is %s', (statusCode, kind) => {
    expect(classify({ kind: 'answered', statusCode, retryAfter: null }, NOW)).toMatchObject({ kind, statusCode });
  });

  it('reads how long backpressure lasts', () => {
    expect(classify({ kind: 'answered', statusCode: 503, retryAfter: '7' }, NOW)).toEqual({
      kind: 'backpressure',
      statusCode: 503,
      retryAfterMs: 7000,
    });
  });

  it('names a failure after its code (D12)', () => {
    expect(classify({ kind: 'answered', statusCode: 500, retryAfter: '7' }, NOW)).toEqual({
      kind: 'failed',
      statusCode: 500,
      error: 'HTTP 500',
    });
  });

  it.each([422, 429, 503])('%d with the header of a permanent failure is one (D39)', (statusCode) => {
    expect(classify({ kind: 'answered', statusCode, retryAfter: '7', isPermanent: true }, NOW)).toEqual({
      kind: 'failed',
      statusCode,
      error: `HTTP ${statusCode}`,
      isPermanent: true,
    });
  });

  it('a success stays one, whatever its header says (D39)', () => {
    expect(classify({ kind: 'answered', statusCode: 200, retryAfter: null, isPermanent: true }, NOW)).toEqual({
      kind: 'accepted',
      statusCode: 200,
    });
  });

  it('takes no answer for a failure without a code', () => {
    expect(classify({ kind: 'no_answer', error: 'reset' }, NOW)).toEqual({
      kind: 'failed',
      statusCode: null,
      error: 'reset',
    });
  });
});

describe('plans (D30)', () => {
  const free = DEFAULT_PLANS.free as Plan;

  it.each([
    ['free', 5, 30_000, 30_000, 10, 100, 24],
    ['pro', null, null, 500_000, 25, 1000, 72],
  ])(
    '%s: %j queues, %j attempts a month',
    (name, queues, monthlyAttempts, includedAttempts, maxAttempts, maxDefers, hours) => {
      const window = hours * 3600;
      expect(DEFAULT_PLANS[name]).toEqual({
        queues,
        monthlyAttempts,
        includedAttempts,
        maxAttempts,
        maxDefers,
        window,
      });
    },
  );

  it('refuses with 403, never with the 402 of a used-up month', () => {
    const refusals = [
      () => assertPlanAllows(free, { maxAttempts: 11 }),
      () => assertQueueCount(free, 5),
      () => assertAccountConcurrency(1001),
    ];
    for (const act of refusals) expect(act).toThrow(expect.objectContaining({ kind: 'forbidden' }));
  });

  it.each([
    [() => assertPlanAllows(free, { maxAttempts: 10, maxDefers: 100 }), null],
    [() => assertPlanAllows(free, { maxAttempts: 11 }), /maxAttempts 11 .* 10/],
    [() => assertPlanAllows(free, { maxDefers: 101 }), /maxDefers 101 .* 100/],
    [() => assertQueueCount(free, 4), null],
    [() => assertQueueCount(free, 5), /5 queues/],
    [() => assertQueueCount(DEFAULT_PLANS.pro as Plan, 5000), null],
    [() => assertAccountConcurrency(1000), null],
    [() => assertAccountConcurrency(1001), /1001/],
  ])('case %#', (act, refusal) => {
    if (refusal === null) expect(act).not.toThrow();
    else expect(act).toThrow(refusal);
  });
});
