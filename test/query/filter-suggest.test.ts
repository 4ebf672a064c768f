import { describe, expect, it } from 'vitest';
import { ACTIVITY } from '../../packages/query/filter/activity.ts';
import { DEAD_LETTERS } from '../../packages/query/filter/dead-letters.ts';
import { parseTerm } from '../../packages/query/filter/engine.ts';
import { JOBS, type JobsFilter, toJobFilter } from '../../packages/query/filter/jobs.ts';
import { hostIn, lookUpsFor, tagIn } from '../../packages/query/filter/look-ups.ts';
import { queueSearchOf } from '../../packages/query/filter/queue-search.ts';
import { completionOf, type Known, suggestionsFor } from '../../packages/query/filter/suggest.ts';
import type { Table } from '../../packages/query/filter/table.ts';

const KNOWN: Known = {
  queues: ['order-events', 'emails'],
  hosts: ['api.example', 'api.example:8443'],
  paths: [
    { value: 'items.0.sku', count: 8412 },
    { value: 'items.0.size', count: 97 },
  ],
  values: [
    { value: '"FERRY-MUG-02"', count: 2207 },
    { value: '{"a":1}', count: 3 },
  ],
};
const NONE: Known = { queues: [], paths: [], values: [] };
const ID = '01a1cfa459463c7ed8a1f07c';
const rights = (mayViewPayloads: boolean) => ({ role: 'VIEWER', mayViewPayloads }) as const;

describe('suggestions for jobs', () => {
  const offers = (text: string, known = KNOWN) => suggestionsFor(JOBS, text, known, { now: 0 });
  const labels = (text: string) => offers(text).map(({ label }) => label);

  it('begin with the words', () => {
    expect(labels('')).toEqual([
      ...[
        'state:',
        'queue:',
        'tag:',
        'receiver:',
        'code:',
        'error:',
        'key:',
        'created:',
        'attempts:',
        'ever:',
        'reason:',
        'replayed:',
        'waits:',
      ],
      ...['holds:', 'completed:', 'scheduled:', 'text:', 'payload.'],
    ]);
    expect(labels('st')[0]).toBe('state:');
  });

  it('are the tags of queues after tag:', () => {
    const known = { ...KNOWN, tags: ['eu', 'mail'] };
    expect(offers('tag:m', known).map(({ label }) => label)).toEqual(['tag:mail']);
    expect(offers('tag:eu,', known)[1]?.does).toEqual({ chips: [{ word: 'tag', value: ['eu', 'mail'] }] });
    expect([tagIn(JOBS, 'tag:eu,m'), tagIn(JOBS, 'tag'), tagIn(DEAD_LETTERS, 'tag:m')]).toEqual(['m', null, null]);
    expect(toJobFilter([parseTerm(JOBS, 'tag:EU,mail')] as JobsFilter, 0)).toEqual({ queueTags: ['eu', 'mail'] });
  });

  it('are the values of a word, also after a comma', () => {
    expect(labels('state:de')).toEqual(['state:dead']);
    expect(labels('state:dead,he')).toEqual(['state:dead,held', 'state:dead,scheduled']);
    expect(labels('queue:ord')).toEqual(['queue:order-events']);
    expect(labels('receiver:api')).toEqual(['receiver:api.example', 'receiver:api.example:8443']);
    expect([hostIn(JOBS, 'receiver:a,b'), hostIn(JOBS, 'api'), hostIn(ACTIVITY, 'receiver:a')]).toEqual([
      'b',
      null,
      null,
    ]);
    expect(offers('state:dead,held')[0]?.does).toEqual({ chips: [{ word: 'state', value: ['dead', 'held'] }] });
    expect(labels('error:')).toEqual(['error:~timeout', 'error:~connection_refused', 'error:~HTTP']);
    expect(labels('error:time')).toEqual(['error:~timeout', 'error contains “time”']);
    expect(labels('error:~timeout')).toEqual(['error:~timeout']);
  });

  it('are paths, and values of a path', () => {
    expect(labels('items.0.s')).toEqual([
      ...['items.0.sku', 'items.0.size', 'items.0.s = "FERRY-MUG-02"'],
      ...['payload contains “items.0.s”', 'error contains “items.0.s”', 'idempotency key contains “items.0.s”'],
    ]);
    expect(offers('payload.items.0.sku:')[0]?.does).toEqual({
      chips: [{ word: 'payload', value: { path: 'items.0.sku', op: 'EQ', values: ['FERRY-MUG-02'] } }],
    });
  });

  it('take a bare word for an error, a key, or the value of a path', () => {
    const found = offers('42', { ...KNOWN, values: [] });
    expect(found.map(({ label }) => label)).toEqual([
      // First what keeps the text: a bare path would replace it.
      ...['items.0.sku = 42', 'items.0.size = 42', 'payload contains “42”'],
      ...['error contains “42”', 'idempotency key contains “42”'],
    ]);
    expect(found[0]?.does).toMatchObject({ chips: [{ value: { values: [42, '42'] } }] });
  });

  it('complete the text', () => {
    const completions = (text: string) => offers(text).map((offer) => completionOf(JOBS, offer));
    expect(completions('items.0.sk')[0]).toBe('payload.items.0.sku:');
    expect(completions('state:de')).toEqual(['state:dead']);
    expect(completions(ID)).toEqual([null]);
  });

  it.each([
    ['', { path: null, valuesOf: null, value: '', queue: null }],
    ['queue:or', { path: null, valuesOf: null, value: '', queue: 'or' }],
    ['queue:a,b', { path: null, valuesOf: null, value: '', queue: 'b' }],
    ['state:de', { path: null, valuesOf: null, value: '', queue: null }],
    ['items.0', { path: 'items.0', valuesOf: 'items.0', value: '', queue: 'items.0' }],
    ['payload.items.0.sku:~FE', { path: 'items.0.sku', valuesOf: 'items.0.sku', value: 'FE', queue: null }],
  ])('suggestions for %j ask for %j', (text, expected) => expect(lookUpsFor(JOBS, text)).toEqual(expected));
});

describe('suggestions for dead letters', () => {
  const terms = (text: string, known: Partial<Known> = {}) =>
    suggestionsFor(DEAD_LETTERS, text, { ...NONE, ...known }, { now: 0 }).map((offer) =>
      completionOf(DEAD_LETTERS, offer),
    );

  it('begin with the words, and then have queues and the error', () => {
    expect(terms('')).toEqual(['queue:', 'receiver:', 'reason:', 'error:', 'code:', 'died:', 'replayed:', 'payload.']);
    expect(terms('co', { queues: ['coins'] })).toEqual(['code:', 'queue:coins', 'error:~co']);
    expect(lookUpsFor(DEAD_LETTERS, 'co').queue).toBe('co');
  });

  it('are paths of payloads and their values', () => {
    const known = { paths: [{ value: 'customer.id', count: 9 }], values: [{ value: '42', count: 3 }] };
    expect(terms('cust', known)).toEqual(['payload.customer.id:', 'payload.cust:42', 'error:~cust']);
    expect(terms('payload.customer.id:', known)).toEqual(['payload.customer.id:42']);
  });

  it('are values that contain the text, with their hints', () => {
    expect(terms('reason:exhausted')).toEqual(['reason:attempts-exhausted', 'reason:holds-exhausted']);
    expect(terms('died:2h')).toEqual(['died:>-2h']);
    const [first] = suggestionsFor(DEAD_LETTERS, 'replayed:n', NONE, { now: 0 });
    expect(first).toMatchObject({ label: 'replayed:no', hint: 'wait for a person' });
  });
});

describe.each<[name: string, table: Table]>([
  ['jobs', JOBS],
  ['dead letters', DEAD_LETTERS],
])('suggestions for %s', (_name, table) => {
  it('are conditions that the filter can read', () => {
    const words = Object.keys(table.words).map((word) => `${word}:`);
    const known = { ...NONE, queues: ['a b'] };
    const found = [...words, 'error:pool', 'queue:a'].flatMap((text) => suggestionsFor(table, text, known, { now: 0 }));
    expect(found.length).toBeGreaterThan(15);
    const chips = found.map((offer) => parseTerm(table, completionOf(table, offer) ?? ''));
    expect(chips.filter((chip) => 'problem' in chip)).toEqual([]);
    expect(new Set(found.map(({ id }) => id)).size).toBeGreaterThan(15);
  });

  it.each(['constructor:', '__proto__:', 'toString:'])('are none for %s, which every object inherits', (text) => {
    expect(suggestionsFor(table, text, NONE, { now: 0 })).toEqual([]);
  });

  it('open a job by its id', () => {
    expect(suggestionsFor(table, ID, KNOWN, { now: 0 })).toMatchObject([
      { label: 'Open job …1f07c', does: { job: ID } },
    ]);
  });

  it('have no condition on payloads or errors without the right to see payloads', () => {
    const all = ['', 'e', 'p', 'ti', 'customer', 'payload.customer.id:', 'error:', '42'];
    const known = { ...KNOWN, values: [{ value: '42', count: 1 }] };
    const offered = (mayViewPayloads: boolean) =>
      all.flatMap((text) => suggestionsFor(table, text, known, { rights: rights(mayViewPayloads), now: 0 }));
    const isHidden = (offer: object) => /payload|error|"word":"text"|"text":"text:/.test(JSON.stringify(offer));
    expect(offered(true).filter(({ does }) => isHidden(does)).length).toBeGreaterThan(5);
    // All else stays.
    expect(offered(false)).toEqual(offered(true).filter(({ does }) => !isHidden(does)));
  });

  it('look nothing up in payloads without the right to see them', () => {
    expect(lookUpsFor(table, 'customer', rights(false))).toMatchObject({ path: null, valuesOf: null });
    expect(lookUpsFor(table, 'customer', rights(true)).path).toBe('customer');
  });
});

describe('a search of queues', () => {
  it.each([
    ['', null, null],
    ['orders', 'orders', null],
    ['tag:mail', null, ['mail']],
    ['api.partner.com tag:EU,us or tag:', 'api.partner.com or', ['eu', 'us']],
  ])('such as “%s” has text and tags', (text, search, tags) => {
    expect(queueSearchOf(text)).toEqual({ search, tags, receivers: null });
  });
});
