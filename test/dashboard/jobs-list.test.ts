import { describe, expect, it } from 'vitest';
import { appliesTo, jobsOfDeed } from '../../src/dashboard/features/jobs/model/bulk.ts';
import { BULK } from '../../src/dashboard/features/jobs/model/bulk-price.ts';
import { brushedRange, histogramRange } from '../../src/dashboard/features/jobs/model/histogram.ts';
import { sentenceOfJobs } from '../../src/dashboard/features/jobs/model/jobs-sentence.ts';
import { formatChip } from '../../src/dashboard/filter/format.ts';
import { stillMatches } from '../../src/dashboard/filter/matches.ts';
import { parseFilter } from '../../src/dashboard/filter/parse.ts';
import { lookUpsFor, suggestionsFor } from '../../src/dashboard/filter/suggest.ts';
import { completionOf } from '../../src/dashboard/filter/suggestion.ts';
import { isWell } from '../../src/dashboard/words/answers.ts';
import { asSentence, leftOutOf } from '../../src/dashboard/words/format.ts';

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
    expect(sentence({ count: 2, exact: true }, { DEAD: 1, RETRYING: 1 }, true)).toBe(
      '2 jobs match: 1 is dead, 1 retries.',
    );
  });

  it('says less when less is known', () => {
    expect(sentence({ count: 10_000, exact: false }, null, true)).toBe('10 000+ jobs match.');
    expect(sentence({ count: 3, exact: true }, null, true)).toBe('3 jobs match.');
    expect(sentence({ count: 3, exact: true }, { DEAD: 3 }, true)).toBe('3 jobs match, and all are dead.');
    expect(sentence({ count: 1, exact: true }, { DEAD: 1 }, true)).toBe('1 job matches, and is dead.');
    expect(sentence({ count: 0, exact: true }, null, true)).toBe('No job matches.');
    expect(sentence({ count: 0, exact: true }, null, false)).toBe('No job is kept.');
  });

  it('takes the hint of the server about an empty page as it is', () => {
    expect(asSentence('no recent payload has the path Customer.id: did you mean customer.id?')).toBe(
      'No recent payload has the path Customer.id: did you mean customer.id?',
    );
    expect(asSentence('no recent payload has the path a')).toBe('No recent payload has the path a.');
  });
});

describe('suggestions', () => {
  const known = {
    queues: ['order-events', 'emails'],
    paths: [
      { value: 'items.0.sku', count: 8412 },
      { value: 'items.0.size', count: 97 },
    ],
    values: [
      { value: '"FERRY-MUG-02"', count: 2207 },
      { value: '{"a":1}', count: 3 },
    ],
  };
  const labels = (text: string) => suggestionsFor(text, known).map(({ label }) => label);

  it('begin with the words', () => {
    expect(labels('').slice(0, 3)).toEqual(['state:', 'queue:', 'code:']);
    expect(labels('st')[0]).toBe('state:');
  });

  it('are the values of a word, also after a comma', () => {
    expect(labels('state:de')).toEqual(['state:dead']);
    expect(labels('state:dead,he')).toEqual(['state:dead,held']);
    expect(labels('queue:ord')).toEqual(['queue:order-events']);
    expect(suggestionsFor('state:dead,held', known)[0]?.does).toEqual({
      chip: { word: 'state', values: ['dead', 'held'] },
    });
  });

  it('are paths, and values of a path', () => {
    expect(labels('items.0.s')).toEqual([
      ...['items.0.sku', 'items.0.size', 'items.0.s = "FERRY-MUG-02"'],
      ...['payload contains “items.0.s”', 'error contains “items.0.s”', 'idempotency key contains “items.0.s”'],
    ]);
    const [value] = suggestionsFor('payload.items.0.sku:', known);
    expect(value?.does).toEqual({ chip: { word: 'payload', path: 'items.0.sku', op: 'EQ', values: ['FERRY-MUG-02'] } });
  });

  it('take a bare word for an error, a key, or the value of a path', () => {
    const offers = suggestionsFor('42', { ...known, values: [] });
    expect(offers.map(({ label }) => label)).toEqual([
      // First what keeps the text: a bare path would replace it.
      ...['items.0.sku = 42', 'items.0.size = 42', 'payload contains “42”'],
      ...['error contains “42”', 'idempotency key contains “42”'],
    ]);
    expect(offers[0]?.does).toMatchObject({ chip: { values: [42] } });
  });

  it('open a job by its id', () => {
    const id = '01a1cfa459463c7ed8a1f07c';
    expect(suggestionsFor(id, known)).toMatchObject([{ label: 'Open job …1f07c', does: { job: id } }]);
  });

  it('complete the text', () => {
    const completions = (text: string) => suggestionsFor(text, known).map((offer) => completionOf(offer, formatChip));
    expect(completions('items.0.sk')[0]).toBe('payload.items.0.sku:');
    expect(completions('state:de')).toEqual(['state:dead']);
    expect(completions('01a1cfa459463c7ed8a1f07c')).toEqual([null]);
  });

  it.each([
    ['', { path: null, valuesOf: null, value: '', queue: null }],
    ['queue:or', { path: null, valuesOf: null, value: '', queue: 'or' }],
    ['queue:a,b', { path: null, valuesOf: null, value: '', queue: 'b' }],
    ['state:de', { path: null, valuesOf: null, value: '', queue: null }],
    ['items.0', { path: 'items.0', valuesOf: 'items.0', value: '', queue: null }],
    ['payload.items.0.sku:~FE', { path: 'items.0.sku', valuesOf: 'items.0.sku', value: 'FE', queue: null }],
  ])('of %j ask the server for %j', (text, expected) => expect(lookUpsFor(text)).toEqual(expected));
});

describe('a row', () => {
  it.each([
    ['state:retrying,held', 'RETRYING', true],
    ['state:retrying,held', 'COMPLETED', false],
    ['state:retrying', 'DUE', false],
    ['state:awaiting-ack', 'AWAITING_ACK', true],
    ['queue:a', 'DEAD', true],
  ] as const)('of %s in the state %s still matches: %s', (text, state, expected) => {
    expect(stillMatches(parseFilter(text), { state })).toBe(expected);
  });
});

describe('the histogram', () => {
  const range = (text: string) => histogramRange(parseFilter(text), NOW, 259_200);

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
    expect((['run', 'replay', 'cancel'] as const).map((deed) => jobsOfDeed(deed, byState))).toEqual([3, 57, 6]);
  });

  it('says how many are left out, as far as they were counted', () => {
    expect(leftOutOf({ count: 61, exact: true }, 57)).toBe('4');
    expect(plain(leftOutOf({ count: 10_000, exact: false }, 57))).toBe('9 943+');
    expect(leftOutOf({ count: 5, exact: true }, 6)).toBe('0');
  });

  it('is asked for with its number', () => {
    expect(plain(BULK.run.question(1998))).toBe('Run 1 998 jobs now?');
    expect(plain(BULK.cancel.question(1))).toBe('Cancel 1 job?');
  });
});
