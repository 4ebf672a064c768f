import { describe, expect, it } from 'vitest';
import { sentenceOfAttempts } from '../../packages/dashboard/features/jobs/model/attempt-list.ts';
import { appliesTo, jobsOfAction } from '../../packages/dashboard/features/jobs/model/bulk.ts';
import { BULK } from '../../packages/dashboard/features/jobs/model/bulk-price.ts';
import { brushedRange, filterThen, histogramRange } from '../../packages/dashboard/features/jobs/model/histogram.ts';
import {
  byStateOf,
  headOfJobs,
  replayedOf,
  sentenceOfJobs,
} from '../../packages/dashboard/features/jobs/model/jobs-sentence.ts';
import { chosenJobs, leftOutOf, matchedJobs, matchedText } from '../../packages/dashboard/words/matched.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import { parseFilter } from '../../packages/query/filter/engine.ts';
import { JOBS } from '../../packages/query/filter/jobs.ts';
import { isWell } from '../../packages/query/words/answers.ts';
import { asSentence } from '../../packages/query/words/format.ts';

const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');
const NOW = Date.parse('2026-11-12T12:04:11Z');

describe('a brushed range', () => {
  const brushed = { from: '2026-11-12T09:00:00Z', to: '2026-11-12T10:00:00Z' };

  it('stays within the range of the filter', () => {
    expect(brushedRange(brushed, { from: '2026-11-12T09:20:00.500Z' })).toEqual({
      ...brushed,
      from: '2026-11-12T09:20:00.500Z',
    });
    expect(brushedRange(brushed, { from: '2026-11-12T08:00:00Z', to: '2026-11-12T09:30:00Z' })).toEqual({
      ...brushed,
      to: '2026-11-12T09:30:00Z',
    });
    expect(brushedRange(brushed)).toEqual(brushed);
  });
});

describe('the sentence of a list', () => {
  const sentence = (...args: Parameters<typeof sentenceOfJobs>) => plain(sentenceOfJobs(...args));

  it('says how many match, by state, largest last', () => {
    const states = { DEAD: 57, RETRYING: 2, HELD: 2, COMPLETED: 0 };
    expect(sentence({ count: 61, exact: true }, states, true)).toBe('61 jobs match: 2 retry, 2 are held, 57 are dead.');
    expect(sentence({ count: 27, exact: true }, { DEAD: 0, REPLAYED: 27 }, true)).toBe(
      '27 jobs match, and all were replayed.',
    );
    expect(sentence({ count: 2, exact: true }, { DEAD: 1, RETRYING: 1 }, true)).toBe(
      '2 jobs match: 1 is dead, 1 retries.',
    );
  });

  it('counts jobs that were replayed apart from the dead ones', () => {
    const group = (state: 'DEAD' | 'COMPLETED', count: number, deadReason: 'NACKED' | 'CANCELLED' | null = null) => ({
      state,
      deadReason,
      count,
    });
    const groups = [group('DEAD', 3, 'NACKED'), group('DEAD', 2, 'CANCELLED'), group('COMPLETED', 5)];
    const byState = byStateOf({ replayed: { count: 1 }, jobGroups: { groups } });
    expect(byState).toEqual({ DEAD: 2, REPLAYED: 1, CANCELLED: 2, COMPLETED: 5 });
    expect(byStateOf({ replayed: { count: 3 }, jobGroups: { groups: groups.slice(0, 1) } })?.DEAD).toBe(0);
    expect(byStateOf(undefined)).toBeNull();
    // They are counted among those that match, which may exclude them.
    const states: ('DEAD' | 'COMPLETED')[] = ['DEAD', 'COMPLETED'];
    expect(replayedOf({ states })).toEqual({ states, replayed: true });
    expect(replayedOf({ states, replayed: false })).toEqual({ ids: [] });
  });

  it('says less when less is known', () => {
    expect(sentence({ count: 10_000, exact: false }, null, true)).toBe('More than 10 000 jobs match.');
    expect(sentence({ count: 3, exact: true }, null, true)).toBe('3 jobs match.');
    expect(sentence({ count: 3, exact: true }, { DEAD: 3 }, true)).toBe('3 jobs match, and all are dead.');
    expect(sentence({ count: 1, exact: true }, { DEAD: 1 }, true)).toBe('1 job matches, and is dead.');
    expect(sentence({ count: 3, exact: true }, { DEAD: 3 }, false)).toBe('3 jobs: all are dead.');
    expect(sentence({ count: 1, exact: true }, { DEAD: 1 }, false)).toBe('1 job: it is dead.');
    expect(sentence({ count: 0, exact: true }, null, true)).toBe('No job matches.');
    expect(sentence({ count: 0, exact: true }, null, false)).toBe('No jobs yet.');
  });

  it('takes the hint of the server about an empty page as it is', () => {
    expect(asSentence('no recent payload has the path Customer.id: did you mean customer.id?')).toBe(
      'No recent payload has the path Customer.id: did you mean customer.id?',
    );
    expect(asSentence('no recent payload has the path a')).toBe('No recent payload has the path a.');
  });
});

describe('the sentence of a list of attempts', () => {
  const first = { durationMs: 14_800, at: '2026-11-12T11:59:00Z' };
  const sentence = (count: number, exact: boolean, order: 'latest' | null = null) =>
    plain(textOfPhrase(sentenceOfAttempts({ count, exact }, first, { order }, { now: NOW, zone: 'utc' })));

  it('says how many match, and the first of its order', () => {
    expect(sentence(1204, true)).toBe('1 204 attempts match. The slowest took 14.8 s.');
    expect(sentence(10_000, false)).toBe('10 000+ attempts match. The slowest took 14.8 s.');
    expect(sentence(1, true, 'latest')).toBe('1 attempt matches. The last one ended at 11:59:00.');
  });

  it('says that no attempt matches', () => {
    const none = sentenceOfAttempts({ count: 0, exact: true }, undefined, { order: null }, { now: NOW, zone: 'utc' });
    expect(textOfPhrase(none)).toBe('No attempt matches.');
  });
});

describe('the histogram', () => {
  const range = (text: string) => histogramRange(parseFilter(JOBS, text), NOW, 259_200);

  it('has about 48 buckets, each a multiple of 5 minutes', () => {
    expect(range('created:>-4h')).toMatchObject({ bucketSeconds: 300, to: NOW });
    expect(range('created:>-3d').bucketSeconds).toBe(5400);
    expect(range('').bucketSeconds).toBe(1800);
    for (const text of ['', 'created:>-4h', 'created:2026-11-10..2026-11-11', 'created:<-1d', 'created:>-30d']) {
      const { from, to, bucketSeconds } = range(text);
      expect(from % (bucketSeconds * 1000)).toBe(0);
      expect((to - from) / 1000 / bucketSeconds).toBeLessThanOrEqual(49);
      expect(to).toBeLessThanOrEqual(NOW);
      expect(from).toBeLessThan(to);
    }
  });

  it('has bars that begin at the same times a day before, and the filter of then', () => {
    for (let hours = 1; hours < 800; hours += 7) {
      const { bucketSeconds } = histogramRange(parseFilter(JOBS, `created:>-${hours}h`), NOW, 9_000_000);
      expect([86_400 % bucketSeconds, bucketSeconds % 86_400], `${hours} h`).toContain(0);
    }
    const created = { from: '2026-11-12T09:00:00.000Z', to: null };
    expect(filterThen({ states: ['DEAD'], created }, 86_400_000)).toEqual({
      states: ['DEAD'],
      created: { from: '2026-11-11T09:00:00.000Z', to: null },
    });
    expect(filterThen({ states: ['DEAD'] }, 86_400_000)).toEqual({ states: ['DEAD'] });
  });
});

describe('a receiver', () => {
  const none = { answered2xx: 0, answered3xx: 0, answered4xx: 0, answered5xx: 0, unauthorized: 0, backpressure: 0 };
  it('is well with ten answers, of which 95 % are 2xx', () => {
    expect(isWell({ ...none, unanswered: 0, answered2xx: 9 })).toBe(false);
    expect(isWell({ ...none, unanswered: 0, answered2xx: 10 })).toBe(true);
    expect(isWell({ ...none, unanswered: 1, answered2xx: 19 })).toBe(true);
    expect(isWell({ ...none, unanswered: 2, answered2xx: 19 })).toBe(false);
  });
});

describe('what can be done with many jobs', () => {
  const dead = { state: 'DEAD', deadLetter: { replayedAt: null } } as const;

  it('applies to jobs by their state, and a dead letter is replayed once', () => {
    expect(appliesTo('replay', dead)).toBe(true);
    expect(appliesTo('replay', { ...dead, deadLetter: { replayedAt: '2026-11-12T12:00:00Z' } })).toBe(false);
    expect(appliesTo('replay', { ...dead, deadLetter: null })).toBe(false);
    expect(appliesTo('run', { state: 'RETRYING', deadLetter: null })).toBe(true);
    expect(appliesTo('run', { state: 'DUE', deadLetter: null })).toBe(false);
    expect(appliesTo('cancel', { state: 'AWAITING_ACK', deadLetter: null })).toBe(true);
    expect(appliesTo('cancel', dead)).toBe(false);
  });

  it('is counted by state', () => {
    const byState = { DUE: 3, RETRYING: 2, HELD: 1, DEAD: 57, COMPLETED: 9 };
    expect((['run', 'replay', 'cancel'] as const).map((action) => jobsOfAction(action, byState))).toEqual([3, 57, 6]);
  });

  it('says how many are left out, as far as they were counted', () => {
    expect(leftOutOf({ count: 61, exact: true }, 57)).toBe('4');
    expect(plain(leftOutOf({ count: 10_000, exact: false }, 57))).toBe('9 943+');
    expect(leftOutOf({ count: 5, exact: true }, 6)).toBe('0');
    expect(leftOutOf({ count: 3_000_000, exact: true }, 1_000_000)).toBe('–');
  });

  it('is asked for with its number', () => {
    expect(plain(BULK.run.question(matchedJobs(1998)))).toBe('Run 1 998 jobs now?');
    expect(plain(BULK.cancel.question(matchedJobs(1)))).toBe('Cancel 1 job?');
  });

  it('is asked for with a "+" if not all were counted', () => {
    expect(plain(matchedJobs(999_999))).toBe('999 999 jobs');
    expect(plain(matchedJobs(1_000_000))).toBe('1 000 000+ jobs');
    expect(plain(matchedText(1_000_000, 999_999))).toBe('999 999+');
    expect(plain(chosenJobs({ count: 10_000, exact: false }))).toBe('10 000+ jobs');
  });
});

describe('the heading of a list of jobs', () => {
  const head = (so: Partial<Parameters<typeof headOfJobs>[0]>) =>
    plain(
      headOfJobs({
        rows: 50,
        isWhole: false,
        all: null,
        byState: null,
        hasFilter: true,
        isLate: true,
        isUncounted: false,
        ...so,
      }),
    );

  it('says that it searches and counts when that takes a while', () => {
    expect(head({ rows: null })).toBe('Searching…');
    expect(head({})).toBe('Counting…');
    expect(head({ rows: null, isLate: false })).toBe('Jobs');
    expect(head({ isLate: false })).toBe('Jobs');
    expect(head({ all: { count: 812, exact: true } })).toBe('812 jobs match.');
  });

  it('needs no count when the page has all, and claims no more than the page when they cannot be counted', () => {
    expect(head({ rows: 7, isWhole: true })).toBe('7 jobs match.');
    expect(head({ rows: 0, isWhole: true })).toBe('No job matches.');
    expect(head({ isUncounted: true })).toBe('More than 50 jobs match.');
  });
});
