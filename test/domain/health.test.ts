import { describe, expect, it } from 'vitest';
import { adviceOf, healthOf } from '../../src/domain/health.ts';
import { type AttemptTotals, NO_ATTEMPTS } from '../../src/domain/statistics.ts';
import { warningRange, warningStarts } from '../../src/domain/warning-starts.ts';
import { histogramOf } from '../support/histogram.ts';

const TIMEOUT_MS = 15_000;

describe('warnings', () => {
  it.each<[string, Partial<AttemptTotals>, string[]]>([
    ['nothing happened', {}, []],
    ['all is well', { success: 100, answered2xx: 100, durations: histogramOf([100]) }, []],
    ['three of sixty were 401', { success: 57, failed: 3, answered2xx: 57, unauthorized: 3 }, ['signature_rejected']],
    ['three of sixty-one were 401', { success: 58, failed: 3, answered2xx: 58, unauthorized: 3 }, []],
    ['both answers were 401', { failed: 2, unauthorized: 2 }, []],
    [
      'every 20th is slow',
      { success: 20, durations: histogramOf([...Array(18).fill(5), 9000, 9000]) },
      ['slow_receiver'],
    ],
    ['a single one is slow', { success: 40, durations: histogramOf([...Array(39).fill(5), 9000]) }, []],
    ['slow, but not by half of the time-out', { success: 2, durations: histogramOf([6000, 6000]) }, []],
    ['six of ten failed', { success: 4, failed: 6, answered5xx: 6 }, ['failing']],
    ['half of ten failed', { success: 5, failed: 5, answered5xx: 5 }, []],
    ['six of ten failed or were nacked', { success: 4, failed: 3, nacked: 3 }, ['failing']],
    ['all of nine failed', { failed: 9, unanswered: 9 }, []],
    ['three of ten were put off', { success: 7, deferred: 3, backpressure: 3 }, ['backpressure']],
    ['a fifth was put off', { success: 8, deferred: 2, backpressure: 2 }, []],
    ['both were put off', { deferred: 2, backpressure: 2 }, []],
    ['a worker deferred half of the jobs', { success: 5, deferred: 5, answered2xx: 10 }, ['backpressure']],
    ['failed probes of a breaker were put off', { failed: 3, deferred: 8, unanswered: 11 }, ['failing']],
    [
      'some were probes',
      { success: 10, deferred: 7, answered2xx: 10, backpressure: 4, answered5xx: 3 },
      ['backpressure'],
    ],
    [
      'few were put off beside probes',
      { success: 10, deferred: 5, answered2xx: 10, backpressure: 2, answered5xx: 3 },
      [],
    ],
    [
      'all that can be wrong is',
      {
        failed: 20,
        deferred: 10,
        unauthorized: 20,
        backpressure: 10,
        durations: histogramOf([14_000]),
      },
      ['signature_rejected', 'slow_receiver', 'failing', 'backpressure'],
    ],
  ])('the warnings are right when %s', (_name, totals, expected) => {
    const { warnings } = healthOf({ ...NO_ATTEMPTS, ...totals }, TIMEOUT_MS);
    expect(warnings.map(({ warning }) => warning)).toEqual(expected);
  });

  it('state the finding and what to do', () => {
    const totals = { ...NO_ATTEMPTS, failed: 20, unauthorized: 20, durations: histogramOf([9000]) };
    const { warnings } = healthOf(totals, TIMEOUT_MS);
    const [rejected, slow, failing] = warnings.map(({ message }) => message);
    expect(rejected).toMatch(/^20 of 20 answers .* 401\. Check .* signing secret/);
    expect(slow).toMatch(/took about 8\.9 s or longer, and at 15 s deliveries fail\. .* ack mode/);
    expect(failing).toMatch(
      /^20 of 20 attempts .* failed\. Look at the causes in Dead letters and at the receiver’s log\.$/,
    );
  });
});

it('failed probes of a breaker are failures of the receiver, and no backpressure', () => {
  const totals = { ...NO_ATTEMPTS, failed: 3, deferred: 9, unanswered: 11, backpressure: 1 };
  const { attempts, failed, deferred, warnings } = healthOf(totals, TIMEOUT_MS);
  expect({ attempts, failed, deferred }).toEqual({ attempts: 12, failed: 11, deferred: 1 });
  expect(warnings.map(({ message }) => message)).toEqual([
    '11 of 12 attempts of the last hour failed. Look at the last attempts of its jobs and at the receiver’s log.',
  ]);
});

describe('the advice for a queue that fails', () => {
  const warningOf = (totals: Partial<AttemptTotals>) => healthOf({ ...NO_ATTEMPTS, ...totals }, TIMEOUT_MS).warnings[0];

  it('is to pause it only while it uses up attempts', () => {
    const failing = warningOf({ failed: 20, answered5xx: 20 });
    if (failing === undefined) throw new Error('no warning');
    expect(adviceOf(failing, true)).toBe(
      `${failing.message} Pause the queue so that jobs do not use up their attempts meanwhile.`,
    );
    expect(adviceOf(failing, false)).toBe(failing.message);
    const slow = { warning: 'slow_receiver', message: 'Slow.' } as const;
    expect(adviceOf(slow, true)).toBe('Slow.');
  });

  it('is to look at the worker if the receiver accepted the jobs', () => {
    expect(warningOf({ failed: 10, nacked: 2, answered2xx: 12 })?.message).toMatch(/accepted most .* worker/);
    expect(warningOf({ failed: 12, answered5xx: 10, answered2xx: 2 })?.message).toMatch(/receiver’s log/);
  });
});

describe('the start of a warning', () => {
  const MINUTE = 60_000;
  const NOW = Date.UTC(2026, 0, 2, 12, 3);
  const at = (minutesAgo: number) => Math.floor((NOW - minutesAgo * MINUTE) / (5 * MINUTE)) * 5 * MINUTE;
  const bad = (minutesAgo: number) => ({ ...NO_ATTEMPTS, at: at(minutesAgo), failed: 10, answered5xx: 10 });
  const good = (minutesAgo: number) => ({ ...NO_ATTEMPTS, at: at(minutesAgo), success: 100, answered2xx: 100 });
  const starts = (rows: Parameters<typeof warningStarts>[0]) =>
    Object.fromEntries([...warningStarts(rows, NOW, TIMEOUT_MS)].map(([name, time]) => [name, time.toISOString()]));

  it('is in the five minutes in which it was not there at the beginning', () => {
    expect(starts([bad(0)])).toEqual({ failing: '2026-01-02T12:00:00.000Z' });
    expect(starts([bad(30)])).toEqual({ failing: new Date(at(30)).toISOString() });
    // Since then nothing has ended it, for however long there was no attempt.
    expect(starts([bad(130), bad(80), bad(30)])).toEqual({ failing: new Date(at(130)).toISOString() });
    expect(starts([bad(180)])).toEqual({ failing: new Date(at(180)).toISOString() });
    // It was away for a while.
    expect(starts([bad(180), good(100), bad(30)])).toEqual({ failing: new Date(at(30)).toISOString() });
    expect(starts([bad(50), { ...good(30) }, ...Array.from({ length: 11 }, () => bad(4))])).toEqual({
      failing: new Date(at(4)).toISOString(),
    });
  });

  it('is not known for one that has lasted for a day, and there is none for one that has ended', () => {
    const day = Array.from({ length: 30 }, (_, n) => bad(n * 55));
    expect(starts(day)).toEqual({});
    expect(starts([bad(70), good(40)])).toEqual({});
    expect(starts([])).toEqual({});
  });

  it('is that of each warning', () => {
    const rejected = { ...NO_ATTEMPTS, at: at(5), failed: 5, unauthorized: 5 };
    expect(starts([bad(40), rejected])).toEqual({
      failing: new Date(at(40)).toISOString(),
      signature_rejected: new Date(at(5)).toISOString(),
    });
  });

  it('is found in the statistics that were asked for', () => {
    const { from, to } = warningRange(NOW);
    expect([from.getTime() <= at(24 * 60 + 60), to.getTime() > NOW]).toEqual([true, true]);
  });
});
