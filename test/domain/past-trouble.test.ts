import { describe, expect, it } from 'vitest';
import { pastTroubleOf, type SpanTotals } from '../../src/domain/past-trouble.ts';
import { NO_ATTEMPTS } from '../../src/domain/statistics.ts';

const MINUTE = 60_000;
const END = Date.UTC(2026, 10, 28, 14, 5);
const span = (minutesBefore: number, { success = 0, failed = 0, unauthorized = 0, deferred = 0 }): SpanTotals => ({
  ...{ ...NO_ATTEMPTS, success, failed, unauthorized, deferred, at: END - minutesBefore * MINUTE },
  ...{ answered2xx: success, answered5xx: failed - unauthorized, backpressure: deferred },
});
const found = (...spans: SpanTotals[]) => {
  const past = pastTroubleOf(spans, 15_000);
  if (past === null) return null;
  return [...past.health.warnings.map(({ warning }) => warning), past.health.failed, past.health.attempts];
};

describe('the trouble with which the attempts of a queue ended', () => {
  it.each<[string, SpanTotals[], unknown[] | null]>([
    ['no attempt is known', [], null],
    ['all attempts failed', [span(0, { failed: 100 })], ['failing', 100, 100]],
    ['all answers were 401', [span(0, { failed: 5, unauthorized: 5 })], ['signature_rejected', 5, 5]],
    ['the last attempts succeeded', [span(0, { success: 1 }), span(5, { failed: 100 })], null],
    ['a later attempt was put off', [span(0, { deferred: 2 }), span(5, { failed: 100 })], ['failing', 100, 100]],
    ['too few failed', [span(0, { failed: 9 })], null],
    ['one of many failed at the end', [span(0, { failed: 1 }), span(5, { success: 90 })], null],
    // Retries hours apart never have ten attempts within an hour.
    [
      'ten failed, one each hour',
      Array.from({ length: 10 }, (_, n) => span(n * 60, { failed: 1 })),
      ['failing', 10, 10],
    ],
    [
      'the hour failed for the most part',
      [span(0, { failed: 5 }), span(5, { success: 30, failed: 50 })],
      ['failing', 55, 85],
    ],
    [
      'a success ended an earlier outage',
      [span(0, { failed: 5 }), span(600, { success: 1 }), span(605, { failed: 90 })],
      null,
    ],
  ])('is judged when %s', (_name, spans, expected) => {
    expect(found(...spans)).toEqual(expected);
  });

  it('depends on the order of attempts within five minutes with both outcomes', () => {
    expect(pastTroubleOf([span(0, { success: 40, failed: 60 })], 15_000)).toMatchObject({ mixedMs: END, spanMs: END });
    const later = [span(0, { failed: 2 }), span(600, { success: 3, failed: 20 })];
    const before = END - 600 * MINUTE;
    expect(pastTroubleOf(later, 15_000)).toMatchObject({ mixedMs: before, spanMs: END, health: { failed: 22 } });
  });
});
