import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEAD_LETTERS } from '../../packages/query/filter/dead-letters.ts';
import { formatChip, formatFilter, parseFilter, parseTerm } from '../../packages/query/filter/engine.ts';
import { JOBS } from '../../packages/query/filter/jobs.ts';
import { lookUpsFor } from '../../packages/query/filter/look-ups.ts';
import { meaningsOf } from '../../packages/query/filter/meanings.ts';
import { otherPathsOf } from '../../packages/query/filter/other-paths.ts';
import { type Known, suggestionsFor } from '../../packages/query/filter/suggest.ts';
import { timeInWords } from '../../packages/query/filter/time-in-words.ts';
import { countedFor } from '../../packages/query/filter/value-counts.ts';

/** Words that people type into a filter box, and not those of the filter. */

const zone = process.env.TZ;
/** A Thursday, 14:30 in Berlin. */
const NOW = Date.parse('2026-11-26T13:30:00Z');

beforeAll(() => {
  process.env.TZ = 'Europe/Berlin';
});
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const NONE: Known = { queues: [], paths: [], values: [] };
const first = (text: string, known: Partial<Known> = {}) => {
  const [offer] = suggestionsFor(JOBS, text, { ...NONE, ...known }, { now: NOW });
  if (offer === undefined || !('chips' in offer.does)) return null;
  const term = offer.does.chips.map((chip) => formatChip(JOBS, chip)).join(' ');
  return { label: offer.label, hint: offer.hint, term };
};

describe('a time in words', () => {
  it.each([
    ['today', '>2026-11-25T23:00Z'],
    ['yesterday', '2026-11-24T23:00Z..2026-11-25T23:00Z'],
    ['Monday', '2026-11-22T23:00Z..2026-11-23T23:00Z'],
    ['since monday 9:00', '>2026-11-23T08:00Z'],
    ['since thursday', '>2026-11-18T23:00Z'],
    ['since 9:15', '>2026-11-26T08:15Z'],
    ['since 20:00', '>2026-11-25T19:00Z'],
    ['since yesterday', '>2026-11-24T23:00Z'],
    ['last hour', '>-1h'],
    ['the last 15 minutes', '>-15m'],
    ['past 3 days', '>-3d'],
    ['last week', '>-7d'],
    ['the last 2 weeks', '>-14d'],
    ['before friday', '<2026-11-19T23:00Z'],
    ['before 9:00', '<2026-11-26T08:00Z'],
  ])('%j is %s', (text, range) => expect(timeInWords(text, NOW)).toBe(range));

  it.each([
    '',
    'before',
    'before customer',
    'customer 42',
    'since',
    'since 25:00',
    '9:00',
    'order',
    'monday 9:00',
    'last',
    '2026-11-12',
  ])('%j is none', (text) => expect(timeInWords(text, NOW)).toBeNull());

  it('counts days by the calendar, also when the clock changes', () => {
    const afterTheChange = Date.parse('2026-10-26T12:00:00Z');
    expect(timeInWords('yesterday', afterTheChange)).toBe('2026-10-24T22:00Z..2026-10-25T23:00Z');
  });

  it.each([
    ['since sunday 9:00', '2027-03-29T10:00Z', '>2027-03-28T07:00Z'],
    ['since 9:00', '2027-03-28T10:00Z', '>2027-03-28T07:00Z'],
    ['since yesterday 18:00', '2027-03-29T10:00Z', '>2027-03-28T16:00Z'],
    ['since 18:00', '2027-03-29T10:00Z', '>2027-03-28T16:00Z'],
    ['since sunday 9:00', '2026-10-26T12:00Z', '>2026-10-25T08:00Z'],
    ['since 9:00', '2026-10-25T12:00Z', '>2026-10-25T08:00Z'],
    ['since yesterday 1:00', '2026-10-26T12:00Z', '>2026-10-24T23:00Z'],
    // The night of the change has no 2:30; the clock then shows 3:30.
    ['since 2:30', '2027-03-28T10:00Z', '>2027-03-28T01:30Z'],
  ])('%j at %s is %s, by the clock of a day on which summer time begins or ends', (text, now, range) =>
    expect(timeInWords(text, Date.parse(now))).toBe(range),
  );

  it('is offered, and read behind a word', () => {
    expect(first('yesterday')).toEqual({
      label: 'yesterday',
      hint: 'created 2026-11-25 00:00 (2026-11-24 23:00 UTC) to 2026-11-26 00:00 (2026-11-25 23:00 UTC)',
      term: 'created:2026-11-24T23:00Z..2026-11-25T23:00Z',
    });
    const read = (text: string) => formatFilter(JOBS, parseFilter(JOBS, text, NOW));
    expect(read('created:yesterday')).toBe('created:2026-11-24T23:00Z..2026-11-25T23:00Z');
    expect(read('created:>yesterday')).toBe('created:>2026-11-24T23:00Z');
    expect(read('scheduled:<today')).toBe('scheduled:<2026-11-25T23:00Z');
    for (const text of ['created:>-2h', 'error:~today', 'today']) expect(read(text)).toBe(text);
  });
});

describe('a state in the words of people', () => {
  it.each([
    ['failed', 'state:dead,retrying'],
    ['fail', 'state:dead,retrying'],
    ['running', 'state:processing,awaiting-ack'],
    ['done', 'state:completed'],
    ['cancelled', 'reason:cancelled'],
    ['held', 'state:held'],
    ['completed', 'state:completed'],
    ['stuck', 'state:due scheduled:<-5m'],
    ['late', 'state:due scheduled:<-1m'],
    ['blocked', 'waits:pause,queue-hold,probe,slot,rate-limit'],
    ['broken', 'state:dead,retrying'],
    ['errors', 'state:dead,retrying'],
    ['timeouts', 'error:~timeout'],
    ['missing', 'state:due,scheduled,retrying,held,processing,awaiting-ack,dead'],
  ])('%j offers %s first', (text, term) => expect(first(text)?.term).toBe(term));

  it('says what is offered, each of the things that it may mean, and leaves the words of the filter before it', () => {
    const offers = (text: string) => suggestionsFor(JOBS, text, NONE, { now: NOW }).map(({ label }) => label);
    expect(offers('stuck').slice(0, 2)).toEqual(['stuck: due for more than 5 minutes', 'stuck: waits for its queue']);
    expect(offers('error').slice(0, 2)).toEqual(['error:', 'errors']);
    expect(offers('completed').slice(0, 2)).toEqual(['completed', 'completed:']);
  });

  it('is read behind its word, and a misspelt one is told which was meant', () => {
    expect(formatChip(JOBS, parseTerm(JOBS, 'state:failed'))).toBe('state:dead,retrying');
    expect(parseTerm(JOBS, 'state:compelted')).toMatchObject({
      problem: 'There is no state “compelted”. Did you mean completed?',
    });
    expect(parseTerm(JOBS, 'stat:dead')).toMatchObject({ problem: 'There is no filter “stat”. Did you mean state:?' });
    expect(parseTerm(JOBS, 'faild')).toMatchObject({
      problem: '“faild” is not a condition. Write one such as error:timeout. Did you mean failed?',
    });
    expect(parseTerm(JOBS, 'xyz')).toMatchObject({
      problem: '“xyz” is not a condition. Write one such as error:timeout.',
    });
  });
});

describe('a misspelt word of people', () => {
  const paths = [{ value: 'customer.name', count: 80, isNumber: false }];

  it.each([
    ['faild', 'state:dead,retrying'],
    ['canceled', 'reason:cancelled'],
    ['runing', 'state:processing,awaiting-ack'],
  ])('%j offers first what was meant: %s', (text, term) => {
    expect(first(text, { paths })).toMatchObject({ term, hint: 'did you mean this?' });
  });

  it('may be the name of a queue', () => {
    const known = { paths, queues: ['emails'] };
    expect(first('emials', known)).toMatchObject({ term: 'queue:emails', hint: 'did you mean this?' });
  });

  it('is told nothing if it is short, or the start of a queue', () => {
    expect(first('list', { paths })?.term).toBe('payload.customer.name:list');
    expect(first('faild', { paths, queues: ['faildover'] })?.term).toBe('queue:faildover');
  });
});

describe('a bare word', () => {
  const paths = [
    { value: 'customer.id', count: 80, isNumber: true },
    { value: 'order.note', count: 20, isNumber: false },
  ];
  const known = { queues: ['err-01', 'err-010', 'my-err-01'], paths };

  it.each([
    ['err-01', 'queue:err-01'],
    ['err-0', 'queue:err-01'],
    ['500', 'code:500'],
    ['timeout', 'error:~timeout'],
    ['connection_refused', 'error:~connection_refused'],
    ['connection ref', 'error:~connection_refused'],
    ['lamp', 'payload.order.note:lamp'],
    ['42', 'payload.customer.id:42,"42"'],
  ])('%j is first %s', (text, term) => expect(first(text, known)?.term).toBe(term));

  it('is no value of a path that has numbers only', () => {
    const labels = suggestionsFor(JOBS, 'err-01', { ...NONE, ...known }, { now: NOW }).map(({ label }) => label);
    expect(labels.filter((label) => /[=:]/.test(label))).toEqual([
      ...['queue:err-01', 'queue:err-010', 'order.note = err-01', 'queue:my-err-01'],
    ]);
    expect(first('customer ada', known)?.term).not.toContain('customer.id');
  });

  it.each([
    [
      'failed yesterday customer 42',
      'state:dead,retrying created:2026-11-24T23:00Z..2026-11-25T23:00Z payload.customer.id:42,"42"',
    ],
    [
      'customer 42 failed since monday 9:00',
      'payload.customer.id:42,"42" state:dead,retrying created:>2026-11-23T08:00Z',
    ],
    ['failed 503', 'state:dead,retrying code:503'],
    ['state:dead customer 42', 'state:dead payload.customer.id:42,"42"'],
    [
      'queue:orders,mails failed yesterday',
      'queue:orders,mails state:dead,retrying created:2026-11-24T23:00Z..2026-11-25T23:00Z',
    ],
    ['customer 42 state:dead', 'payload.customer.id:42,"42" state:dead'],
    ['payload.customer.id:42 failed', 'payload.customer.id:42 state:dead,retrying'],
    ["today's failures", 'created:>2026-11-25T23:00Z state:dead,retrying'],
    ['stuck 503', 'state:due scheduled:<-5m code:503'],
    ['stuck err-01', 'state:due scheduled:<-5m queue:err-01'],
    ['err-01 customer 42 failed', 'queue:err-01 payload.customer.id:42,"42" state:dead,retrying'],
  ])('%j is several conditions', (text, term) => {
    expect(first(text, known)).toEqual({ label: term, hint: '', term });
  });

  it('is of dead letters a time of death', () => {
    const [offer] = suggestionsFor(DEAD_LETTERS, 'failed yesterday', NONE, { now: NOW });
    expect(offer?.label).toBe('replayed:no died:2026-11-24T23:00Z..2026-11-25T23:00Z');
  });

  it.each(['failed lamp', 'lamp failed', 'error:job failed', 'constructor failed', 'failed', 'stuck'])(
    '%j is not, as a part is not understood',
    (text) =>
      expect(
        suggestionsFor(JOBS, text, { ...NONE, ...known }, { now: NOW }).every(({ group }) => group !== 'All of these'),
      ).toBe(true),
  );
});

it.each([
  ['stuck emails', 'emails'],
  ['emails failed yesterday', 'emails'],
  ['emails customer 42', 'emails'],
  ['customer 42 emails', 'emails'],
  ['failed', 'failed'],
  ['503 42', '503 42'],
  ['state:dead emails', 'emails'],
  ['emails state:dead', 'emails'],
  ['queue:ema', 'ema'],
])('the text %j looks up the queue %j', (text, queue) => expect(lookUpsFor(JOBS, text).queue).toBe(queue));

describe('a value', () => {
  const paths = [
    { value: 'customer.email', count: 90, isNumber: false },
    { value: 'customer.name', count: 90, isNumber: false },
    { value: 'orderNumber', count: 90, isNumber: false },
    { value: 'customer.id', count: 90, isNumber: true },
  ];
  const inJobs = (...terms: string[]) => {
    const chips = (text: string) => countedFor(JOBS, text, paths);
    return (text: string): Partial<Known> => ({
      paths,
      counts: new Map(
        chips(text).map((chip) => {
          const term = formatChip(JOBS, chip);
          return [term, { count: terms.includes(term) ? 64 : 0, exact: true }];
        }),
      ),
    });
  };
  const known = inJobs(
    ...['payload.customer.id:42,"42"', 'payload.customer.email:ada.2@example.com'],
    'payload.orderNumber:ORD-2026-1042',
  );

  it.each([
    ['customer 42', 'payload.customer.id:42,"42"'],
    ['42', 'payload.customer.id:42,"42"'],
    ['ORD-2026-1042', 'payload.orderNumber:ORD-2026-1042'],
    ['order ORD-2026-1042', 'payload.orderNumber:ORD-2026-1042'],
    ['ada.2@example.com', 'payload.customer.email:ada.2@example.com'],
    ['failed customer 42', 'state:dead,retrying payload.customer.id:42,"42"'],
    ['failed ada.2@example.com', 'state:dead,retrying payload.customer.email:ada.2@example.com'],
    ['ada.2@example.com failed', 'payload.customer.email:ada.2@example.com state:dead,retrying'],
    ['42 failed', 'payload.customer.id:42,"42" state:dead,retrying'],
    [
      'failed ORD-2026-1042 yesterday',
      'state:dead,retrying payload.orderNumber:ORD-2026-1042 created:2026-11-24T23:00Z..2026-11-25T23:00Z',
    ],
  ])('%j is first where it is: %s', (text, term) => {
    expect(first(text, known(text))?.term).toBe(term);
    // By its name and form alone, before the server has counted.
    expect(first(text, { paths })?.term).toBe(term);
  });

  it('is searched where a job has it, and not at a likelier path without it', () => {
    const term = 'payload.orderNumber:42,"42"';
    const elsewhere = inJobs(term);
    expect(first('failed 42', elsewhere('failed 42'))?.term).toBe(`state:dead,retrying ${term}`);
    expect(first('42', elsewhere('42'))).toMatchObject({ term, hint: '64 jobs' });
    // An amount that is the same number as an order is found, too, and is not likelier.
    const amounts = [{ value: 'amount', count: 99, isNumber: true }, ...paths];
    const counts = new Map(['payload.amount:42,"42"', term].map((one) => [one, { count: 1, exact: true }]));
    expect(first('42', { paths: amounts.slice(0, 4), counts })?.term).toBe(term);
  });

  const named = inJobs(
    ...['payload.customer.name:"Ada Lovelace"', 'payload.orderNumber:urn:order:7', 'payload.customer.name:Ada'],
    'payload.customer.name:"Queen of Hearts"',
  );

  it.each([
    ['Ada Lovelace', 'payload.customer.name:"Ada Lovelace"'],
    ['"Ada Lovelace"', 'payload.customer.name:"Ada Lovelace"'],
    ['customer Ada Lovelace', 'payload.customer.name:"Ada Lovelace"'],
    ['failed Ada', 'state:dead,retrying payload.customer.name:Ada'],
    ['Ada failed', 'payload.customer.name:Ada state:dead,retrying'],
    [
      'failed Ada Lovelace yesterday',
      'state:dead,retrying payload.customer.name:"Ada Lovelace" created:2026-11-24T23:00Z..2026-11-25T23:00Z',
    ],
    ['state:dead Ada Lovelace', 'state:dead payload.customer.name:"Ada Lovelace"'],
    ['show failed customer Ada Lovelace', 'state:dead,retrying payload.customer.name:"Ada Lovelace"'],
    ['Queen of Hearts', 'payload.customer.name:"Queen of Hearts"'],
    ['urn:order:7', 'payload.orderNumber:urn:order:7'],
    ['failed urn:order:7', 'state:dead,retrying payload.orderNumber:urn:order:7'],
  ])('%j of several words or with a colon is searched where it was found: %s', (text, term) => {
    expect(first(text, named(text))?.term).toBe(term);
    // The command line takes the words for the same.
    const meant = meaningsOf(JOBS, text, { ...NONE, ...named(text) }, NOW).flatMap(({ chips }) => chips);
    expect(meant.map((chip) => formatChip(JOBS, chip)).join(' ')).toBe(term);
  });

  it.each(['Ada Byron', 'customer Ada Byron', 'failed Byron', 'Byron failed', 'urn:order:8', 'https://a.example/7'])(
    '%j is offered at no path if none is known to have it',
    (text) => {
      for (const counted of [named(text), { paths }]) {
        const offers = suggestionsFor(JOBS, text, { ...NONE, ...counted }, { now: NOW });
        expect(offers.map(({ label }) => label).filter((label) => label.includes(' = '))).toEqual([]);
      }
    },
  );

  it('has the number of its jobs, and is offered last where no job has it', () => {
    const { paths: _, ...counts } = known('42');
    const offers = suggestionsFor(JOBS, '42', { ...NONE, paths, ...counts }, { now: NOW });
    expect(offers[0]).toMatchObject({ label: 'customer.id = 42', hint: '64 jobs' });
    expect(offers.filter(({ hint }) => hint === 'no job').map(({ label }) => label)).toEqual([
      ...['orderNumber = 42', 'customer.email = 42', 'customer.name = 42'],
    ]);
    expect(offers.at(-1)?.hint).toBe('no job');
  });

  it('is searched in whole payloads if no path that is counted has it', () => {
    const nowhere = inJobs();
    expect(first('failed ORD-1', nowhere('failed ORD-1'))?.term).toBe('state:dead,retrying text:~ORD-1');
    expect(first('ORD-1', nowhere('ORD-1'))?.label).toBe('payload contains “ORD-1”');
  });

  it('is of a question with words that mean nothing to a filter', () => {
    expect(first('what broke since 14:00')?.term).toMatch(/^state:dead,retrying created:>/);
    expect(first('show me all failed jobs for customer 42', { paths })?.term).toBe(
      'state:dead,retrying payload.customer.id:42,"42"',
    );
  });
});

describe('a thing and its number', () => {
  const paths = [
    { value: 'amount', count: 99 },
    { value: 'customer.id', count: 80 },
    { value: 'order.customerId', count: 20 },
  ];

  it('offers the paths of the thing, with the number and its text', () => {
    expect(first('customer 42', { paths })).toEqual({
      label: 'customer.id = 42',
      hint: '',
      term: 'payload.customer.id:42,"42"',
    });
    const all = suggestionsFor(JOBS, 'customer #42', { ...NONE, paths }, { now: NOW }).map(({ label }) => label);
    expect(all.slice(0, 2)).toEqual(['customer.id = 42', 'order.customerId = 42']);
    expect(first('customer ada', { paths })?.term).toBe('payload.customer.id:ada');
    const lookUps = { path: '', valuesOf: null, value: '', queue: 'customer 42' };
    expect(lookUpsFor(JOBS, 'customer 42')).toEqual(lookUps);
    expect(lookUpsFor(JOBS, 'state:dead customer 42')).toEqual(lookUps);
  });

  it('is not offered where payloads may not be seen', () => {
    const rights = { role: 'VIEWER', mayViewPayloads: false } as const;
    const offers = suggestionsFor(JOBS, 'customer 42', { ...NONE, paths }, { rights, now: NOW });
    expect(offers.filter(({ label }) => label.includes('='))).toEqual([]);
  });
});

describe('a value that no job has at a path', () => {
  const paths = ['orderNumber', 'customer.id', 'customer.name'].map((value) => ({ value, count: 9, isNumber: false }));
  const others = (text: string) =>
    otherPathsOf(parseFilter(JOBS, text), paths).map(({ path, filter }) => [path, formatFilter(JOBS, filter)]);

  it('may be at the other paths, with the other conditions', () => {
    expect(others('state:dead payload.orderNumber:42')).toEqual([
      ['customer.id', 'state:dead payload.customer.id:42,"42"'],
      ['customer.name', 'state:dead payload.customer.name:42,"42"'],
    ]);
    expect(others('payload.customer.name:"Ada Lovelace"').map(([path]) => path)).toEqual([
      'orderNumber',
      'customer.id',
    ]);
  });

  it.each(['state:dead', 'payload.customer.id:>41', 'payload.customer.id:*'])('is none of %j', (text) => {
    expect(others(text)).toEqual([]);
  });
});
