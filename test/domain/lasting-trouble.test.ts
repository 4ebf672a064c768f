import { describe, expect, it } from 'vitest';
import { createRandom } from '../../rigs/chaos/random.ts';
import {
  isDecided,
  lastFailuresOf,
  lastingTroubleOf,
  outcomesOf,
  type SpanTotals,
  withTrail,
} from '../../src/domain/lasting-trouble.ts';
import { NO_ATTEMPTS } from '../../src/domain/statistics.ts';

const MINUTE = 60_000;
const END = Date.UTC(2026, 10, 28, 14, 5);

interface Attempts {
  success?: number;
  failed?: number;
  unauthorized?: number;
  deferred?: number;
}

const at = (ms: number, { success = 0, failed = 0, unauthorized = 0, deferred = 0 }: Attempts): SpanTotals => ({
  ...NO_ATTEMPTS,
  success,
  failed,
  unauthorized,
  deferred,
  at: ms,
  answered2xx: success,
  answered5xx: failed - unauthorized,
  backpressure: deferred,
});
const span = (minutesBefore: number, attempts: Attempts) => at(END - minutesBefore * MINUTE, attempts);
const found = (...spans: SpanTotals[]) => {
  const trouble = lastingTroubleOf(outcomesOf(spans));
  if (trouble === null || trouble.succeeded >= 10) return null;
  const { success, failed } = trouble.totals;
  return [...trouble.warnings, failed, success + failed];
};

describe('trouble', () => {
  it.each<[string, SpanTotals[], unknown[] | null]>([
    ['no attempt is known', [], null],
    ['all attempts failed', [span(0, { failed: 100 })], ['failing', 100, 100]],
    ['all answers were 401', [span(0, { failed: 5, unauthorized: 5 })], ['signature_rejected', 5, 5]],
    ['the last ten attempts succeeded', [span(0, { success: 10 }), span(5, { failed: 100 })], null],
    ['the last nine attempts succeeded', [span(0, { success: 9 }), span(5, { failed: 100 })], ['failing', 100, 109]],
    ['a success came an hour later', [span(0, { success: 1 }), span(65, { failed: 100 })], null],
    ['a later attempt was put off', [span(0, { deferred: 200 }), span(5, { failed: 100 })], ['failing', 100, 100]],
    ['too few failed', [span(0, { failed: 9 })], null],
    ['one of many failed at the end', [span(0, { failed: 1 }), span(5, { success: 90 })], null],
    ['ten failed after many successes', [span(0, { failed: 10 }), span(5, { success: 90 })], ['failing', 10, 10]],
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
      'a few failed after an outage that one success did not end',
      [span(0, { failed: 5 }), span(600, { success: 1 }), span(605, { failed: 90 })],
      ['failing', 95, 96],
    ],
    [
      'a few failed after an outage that ten successes ended',
      [span(0, { failed: 5 }), span(600, { success: 10 }), span(605, { failed: 90 })],
      null,
    ],
  ])('is judged when %s', (_name, spans, expected) => {
    expect(found(...spans)).toEqual(expected);
  });

  it('depends on the order of attempts within five minutes with both outcomes', () => {
    const of = (...spans: SpanTotals[]) => lastingTroubleOf(spans);
    expect(of(span(0, { success: 40, failed: 60 }))).toMatchObject({ mixedMs: null, failedMs: END });
    const before = END - 600 * MINUTE;
    expect(of(span(0, { failed: 2 }), span(600, { success: 12, failed: 20 }))).toMatchObject({
      mixedMs: before,
      failedMs: END,
      succeeded: 0,
    });
    // Too few to have ended it.
    expect(of(span(0, { failed: 2 }), span(600, { success: 3, failed: 20 }))?.mixedMs).toBeNull();
  });
});

const SPAN = 5 * MINUTE;
const HOUR = 60 * MINUTE;

/** The last spans before the hour of a moment come from another query, which is left out if the hour decides. */
function judgedAt(now: number, spans: readonly SpanTotals[]) {
  const start = Math.floor((now - HOUR) / SPAN) * SPAN;
  const hour = outcomesOf(spans.filter((one) => one.at >= start));
  const trail = outcomesOf(spans.filter((one) => one.at < start)).slice(0, 22);
  const all = isDecided(hour) ? hour : withTrail(hour, trail);
  const trouble = lastingTroubleOf(all);
  const isTrouble = trouble !== null && trouble.succeeded < 10;
  return { isTrouble, last: lastFailuresOf(all)?.totals.failed ?? null };
}

/** A day of a queue that attempts something now and then, mostly in outages or out of them. */
function randomCourse(random: () => number): SpanTotals[] {
  const spans: SpanTotals[] = [];
  let isOutage = random() < 0.5;
  for (let ms = END - 24 * HOUR; ms <= END; ms += Math.ceil(random() ** 4 * 60) * SPAN) {
    if (random() < 0.2) isOutage = !isOutage;
    const count = Math.ceil(random() ** 3 * 20);
    const mixed = random() < 0.2 ? Math.floor(random() * count) : 0;
    const [success, failed] = isOutage ? [mixed, count - mixed] : [count - mixed, mixed];
    const isPutOff = random() < 0.1;
    spans.push(at(ms, isPutOff ? { deferred: count } : { success, failed, unauthorized: random() < 0.1 ? failed : 0 }));
  }
  return spans;
}

describe('time alone', () => {
  it.each<[string, SpanTotals[], boolean]>([
    [
      'an outage with one success in it',
      [span(35, { failed: 100 }), span(5, { success: 1 }), span(0, { failed: 8 })],
      true,
    ],
    ['failures after many successes', [span(10, { success: 200 }), span(0, { failed: 90 })], true],
    ['nine failures', [span(0, { failed: 9 })], false],
    ['an outage with one success after it', [span(30, { failed: 100 }), span(0, { success: 1 })], true],
  ])('does not change what is said of %s', (_name, spans, isTrouble) => {
    for (let minutes = 0; minutes < 3 * 24 * 60; minutes += 7) {
      expect(judgedAt(END + minutes * MINUTE, spans).isTrouble, `${minutes} min later`).toBe(isTrouble);
    }
  });

  it('ends no trouble and begins none, nor do failures or deferred attempts end it', () => {
    const random = createRandom(20).next;
    let [troubles, ends] = [0, 0];
    for (let run = 0; run < 100; run += 1) {
      const course = randomCourse(random);
      let before = false;
      for (let n = 1; n <= course.length; n += 1) {
        const known = course.slice(0, n);
        const newest = known.at(-1) as SpanTotals;
        const present = judgedAt(newest.at, known);
        troubles += present.isTrouble ? 1 : 0;
        ends += before && !present.isTrouble ? 1 : 0;
        if (newest.success === 0) expect(before && !present.isTrouble).toBe(false);
        for (const later of [random() * HOUR, HOUR + random() * HOUR, random() * 48 * HOUR]) {
          expect(judgedAt(newest.at + later, known)).toEqual(present);
        }
        before = present.isTrouble;
      }
    }
    expect(troubles).toBeGreaterThan(300);
    expect(ends).toBeGreaterThan(50);
  });
});
