import { describe, expect, it } from 'vitest';
import {
  type AttemptsPoint,
  changesSince,
  chartRate,
  ghostOf,
  newestShown,
  queueCharts,
  rateUnit,
  sumShown,
} from '../../packages/dashboard/features/queues/model/queue-timeline.ts';
import { comparisonOf, comparisonsOffered, missingOfGhost } from '../../packages/dashboard/words/comparison.ts';
import {
  actionOnQueue,
  changeBefore,
  changeBeforeOf,
  releaseEntries,
} from '../../packages/dashboard/words/queue-actions.ts';
import { createdIn, deadPath, jobsOfQueue, jobsPath } from '../../packages/query/filter/links.ts';
import { answersOf, CODES } from '../../packages/query/words/answers.ts';

const at = (clock: string) => `2026-11-12T${clock}:00Z`;
const none = { p50: null, p95: null, p99: null };
const bucketMs = 300_000;

const attempts = (clock: string, change: Partial<AttemptsPoint> = {}): AttemptsPoint => ({
  at: at(clock),
  success: 0,
  failed: 0,
  nacked: 0,
  deferred: 0,
  published: 0,
  duration: none,
  wait: none,
  ...change,
});
const timeline = [
  attempts('11:50', { success: 9000 }),
  attempts('11:55', { success: 290, failed: 7, nacked: 3, deferred: 50, wait: { p50: 80, p95: 90, p99: 95 } }),
  attempts('12:00', { success: 300 }),
  attempts('12:05', { success: 30, published: 60 }),
];
describe('the charts', () => {
  it('have rates of the time that has passed in the bucket under way', () => {
    const {
      times,
      accepted,
      failed,
      putOff,
      published: rates,
    } = queueCharts(timeline, { now: Date.parse(at('12:08')), bucketMs });
    expect(times.at(-1)).toBe(Date.parse(at('12:05')));
    expect(accepted).toEqual([30, 290 / 300, 1, 30 / 180]);
    expect([failed[1], putOff[1]]).toEqual([10 / 300, 50 / 300]);
    expect(rates.at(-1)).toBe(60 / 180);
  });

  it('leave that bucket out until half of it has passed', () => {
    const { times } = queueCharts(timeline, { now: Date.parse(at('12:06')), bucketMs });
    expect(times.at(-1)).toBe(Date.parse(at('12:00')));
  });

  it('keep what was not measured apart from zero', () => {
    const { wait, outcomes } = queueCharts(timeline, { now: Date.parse(at('12:20')), bucketMs });
    expect(wait.p50).toEqual([null, 80, null, null]);
    expect(outcomes.deferred).toEqual([0, 50, 0, 0]);
  });

  it('read slow queues by the minute, with figures that count', () => {
    const slow = rateUnit([0.05, null, 0.5]);
    expect([slow.word, slow.shownIn([0.05, null])]).toEqual(['minute', [3, null]]);
    expect([rateUnit([1.5, 0.2]).word, rateUnit([0, null]).word]).toEqual(['second', 'second']);
    expect([0, 0.0512, 3.25, 31.4].map(chartRate)).toEqual(['0', '0.051', '3.3', '31']);
  });
});

describe('answers', () => {
  const health = {
    answered2xx: 990,
    answered3xx: 0,
    answered4xx: 3,
    answered5xx: 1,
    unauthorized: 0,
    backpressure: 2,
    unanswered: 4,
  };

  it('are counted, those that are not 2xx by frequency', () => {
    const { all, good, others } = answersOf(health);
    expect([all, good]).toEqual([1000, 990]);
    expect(others.map(({ label }) => label)).toEqual(['unanswered', '4xx', 'backpressure', '5xx']);
    // Each leads to a list that the page Attempts has.
    for (const { code } of others) expect(Object.keys(CODES)).toContain(code);
  });

  it('are none of a deleted queue', () => {
    expect(answersOf(null)).toEqual({ all: 0, good: 0, others: [] });
  });
});

describe('links of figures', () => {
  it('lead to the jobs that they count', () => {
    const span = { from: Date.parse(at('10:50')), to: Date.parse(at('12:05')) };
    expect(jobsPath(jobsOfQueue('search-index', createdIn(span)))).toBe(
      '/jobs?q=queue:search-index+created:2026-11-12T10:50:00Z..2026-11-12T12:05:00Z',
    );
    expect(deadPath('search-index')).toBe('/dead?q=queue:search-index');
  });
});

describe('an earlier time beside the charts', () => {
  const yesterday = comparisonOf('day');
  const week = comparisonOf('week');
  if (yesterday === null || week === null) throw new Error('they have names');
  const then = (clock: string, success: number) => ({
    at: `2026-11-11T${clock}:00Z`,
    success,
    published: 2 * success,
    duration: { p95: success },
    wait: { p95: null },
  });
  const times = ['11:55', '12:00', '12:05'].map((clock) => Date.parse(at(clock)));

  it('stands at the times of today, and has no value where there are no statistics', () => {
    const points = [then('12:00', 300), then('12:05', 600), then('12:10', 900)];
    const ghost = ghostOf(times, points, yesterday, bucketMs);
    expect(ghost).toMatchObject({ word: 'yesterday', accepted: [null, 1, 2], published: [null, 2, 4] });
    expect(ghost).toMatchObject({
      success: [null, 300, 600],
      durationP95: [null, 300, 600],
      waitP95: [null, null, null],
    });
    expect(ghostOf(times, [], week, bucketMs).accepted).toEqual([null, null, null]);
  });

  it('is offered while its statistics are kept, or to be left', () => {
    const offered = (days: number, chosen: string | null = null) =>
      comparisonsOffered(days * 86_400, chosen).map(({ name }) => name);
    expect([offered(0.5), offered(3), offered(7)]).toEqual([[], ['day'], ['day', 'week']]);
    expect(offered(3, 'week')).toEqual(['day', 'week']);
  });

  it('is not known where it has no value, and not 0', () => {
    expect([newestShown([null, 2, null], chartRate), newestShown([0], chartRate)]).toEqual(['2', '0']);
    expect([newestShown([null], chartRate), newestShown([], chartRate)]).toEqual(['not known', 'not known']);
    expect([sumShown([null, 2, 3]), sumShown([0, 0]), sumShown([null])]).toEqual(['5', '0', 'not known']);
  });

  it('says why it is not there', () => {
    const now = Date.parse(at('12:08'));
    const [three, ten] = [3 * 86_400, 10 * 86_400];
    const from = now - 3 * 3_600_000;
    const plain = (text: string | null) => text?.replaceAll('\u00a0', ' ') ?? null;
    expect(missingOfGhost(from, yesterday, { now, retentionSeconds: three })).toBeNull();
    expect(plain(missingOfGhost(from, week, { now, retentionSeconds: three }))).toBe(
      'There is no line for last week: statistics are kept for 3 d.',
    );
    expect(plain(missingOfGhost(now - three * 1000, yesterday, { now, retentionSeconds: three }))).toBe(
      'The line for yesterday starts later than the chart: statistics are kept for 3 d.',
    );
    expect(missingOfGhost(from, week, { now, retentionSeconds: ten })).toBeNull();
    expect(comparisonOf('month')).toBeNull();
  });
});

it('has the changes since its charts began, and the one in the hour before a cause', () => {
  const cause = { firstSeen: at('09:30') };
  expect(changesSince({ timeline, errorGroups: [] })).toBe('2026-11-12T11:50:00.000Z');
  expect(changesSince({ timeline, errorGroups: [cause] })).toBe('2026-11-12T08:30:00.000Z');
  const tags = { action: 'queue.update', before: { tags: ['a'] }, after: { tags: ['b'] } };
  const pause = { action: 'queue.pause', before: null, after: null };
  const changes = [
    ...['09:31', '09:10', '09:20', '08:29'].map((clock) => ({ ...pause, at: at(clock) })),
    { ...tags, at: at('09:25') },
  ];
  expect(changeBeforeOf(changes, cause.firstSeen)).toMatchObject({ at: at('09:20') });
  expect(changeBeforeOf(changes, at('08:00'))).toBeNull();
});

it('has the releases that took over among the changes, and not the first one of a database', () => {
  const runs = [
    { version: '0.3.0', before: '0.2.0', at: at('09:25') },
    { version: '0.2.0', before: null, at: at('09:00') },
  ];
  const entries = releaseEntries(runs);
  expect(entries.map((entry) => `${entry.actor} ${actionOnQueue(entry)}`)).toEqual([
    'Jobferry 0.3.0 took over from 0.2.0',
  ]);
  const newest = changeBeforeOf(entries, at('09:30'));
  if (newest === null) throw new Error('it was five minutes before');
  expect(changeBefore(newest, at('09:30')).replace(/\u00a0/g, ' ')).toBe(
    'Jobferry 0.3.0 took over from 0.2.0 5 min before',
  );
});
