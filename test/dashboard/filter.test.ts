import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addChip, type Chip, type Filter, labelOfChip, STATES } from '../../src/dashboard/filter/chips.ts';
import { formatFilter } from '../../src/dashboard/filter/format.ts';
import { toJobFilter } from '../../src/dashboard/filter/job-filter.ts';
import { parseFilter } from '../../src/dashboard/filter/parse.ts';
import { DEAD_REASONS, type DeadReasonName, WAITS, type WaitName } from '../../src/dashboard/filter/reasons.ts';
import { toSearch } from '../../src/dashboard/filter/search.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');

/** Any text that can be typed or pasted: spaces, quotes, commas, operators, emoji. */
const text = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.stringMatching(/^[ ",:!~><*.\\a-z0-9-]{1,12}$/),
  fc.constantFrom('true', 'null', '42', '1e3', '-0.5', '"', '\\', '..', 'a b', 'state:dead'),
);
const scalar = fc.oneof(
  text,
  fc.constant(''),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.boolean(),
  fc.constant(null),
);
const some = <Value>(value: fc.Arbitrary<Value>) => fc.uniqueArray(value, { minLength: 1, maxLength: 4 });
const bound = fc.oneof(
  fc
    .tuple(fc.constantFrom('-', '+'), fc.nat(999_999), fc.constantFrom('s', 'm', 'h', 'd'))
    .map((parts) => parts.join('')),
  fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }).chain((date) => {
    const iso = date.toISOString();
    return fc.constantFrom(iso, iso.slice(0, 10), `${iso.slice(0, 16)}Z`, `${iso.slice(0, 19)}Z`);
  }),
);
const range = fc
  .record({ from: fc.option(bound), to: fc.option(bound) })
  .filter(({ from, to }) => from !== null || to !== null);
const attempts = fc
  .record({ min: fc.option(fc.nat(9999)), max: fc.option(fc.nat(9999)) })
  .filter(({ min, max }) => (min !== null || max !== null) && (min === null || max === null || min <= max));
const code = fc.oneof(fc.integer({ min: 100, max: 599 }).map(String), fc.constantFrom('0', '4xx', '5xx'));

const chip: fc.Arbitrary<Chip> = fc.oneof(
  some(fc.constantFrom(...STATES)).map((values): Chip => ({ word: 'state', values })),
  some(text).map((values): Chip => ({ word: 'queue', values })),
  some(code).map((values): Chip => ({ word: 'code', values })),
  some(code).map((values): Chip => ({ word: 'ever', values })),
  some(fc.constantFrom(...(Object.keys(DEAD_REASONS) as DeadReasonName[]))).map(
    (values): Chip => ({ word: 'reason', values }),
  ),
  some(fc.constantFrom(...(Object.keys(WAITS) as WaitName[]))).map((values): Chip => ({ word: 'waits', values })),
  text.map((value): Chip => ({ word: 'key', text: value, isExact: true })),
  fc.stringMatching(/^[0-9a-f]{24}$/).map((id): Chip => ({ word: 'action', id })),
  fc
    .tuple(fc.constantFrom('error' as const, 'key' as const, 'text' as const), text)
    .map(([word, value]): Chip => ({ word, text: value })),
  fc
    .tuple(fc.constantFrom('attempts' as const, 'holds' as const), attempts)
    .map(([word, { min, max }]): Chip => ({ word, min, max })),
  fc
    .tuple(fc.constantFrom('created' as const, 'completed' as const, 'scheduled' as const), range)
    .map(([word, value]): Chip => ({ word, range: value })),
  fc.tuple(text, some(scalar)).map(([path, values]): Chip => ({ word: 'payload', path, op: 'EQ', values })),
  fc
    .tuple(text, fc.constantFrom('NEQ' as const, 'CONTAINS' as const, 'GT' as const, 'LT' as const), scalar)
    .map(([path, op, value]): Chip => ({ word: 'payload', path, op, values: [value] })),
  text.map((path): Chip => ({ word: 'payload', path, op: 'EXISTS', values: [] })),
);
/** As the filter box makes them: one chip after the other. */
const filter = fc.array(chip, { maxLength: 6 }).map((chips) => chips.reduce<Filter>(addChip, []));

describe('a filter', () => {
  it('is the same after the text and the URL, whatever it is', () => {
    fc.assert(
      fc.property(filter, (chips) => {
        const search = toSearch({ q: formatFilter(chips), after: null });
        const fromUrl = new URL(`http://host/jobs${search}`).searchParams.get('q') ?? '';
        expect(parseFilter(fromUrl)).toEqual(chips);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the same condition for the API after the URL', () => {
    fc.assert(
      fc.property(filter, (chips) => {
        expect(toJobFilter(parseFilter(formatFilter(chips)), NOW)).toEqual(toJobFilter(chips, NOW));
      }),
    );
  });

  it('keeps what it cannot read, and says why', () => {
    const chips = parseFilter('state:dead colour:red state:sleeping 42');
    expect(chips.map(({ word }) => word)).toEqual(['state', 'unknown', 'unknown', 'unknown']);
    expect(chips.flatMap((one) => (one.word === 'unknown' ? [one.problem] : []))).toEqual([
      'There is no word “colour”.',
      'There is no state “sleeping”.',
      '“42” has no word before it, such as error: or key:',
    ]);
    expect(formatFilter(chips)).toBe('state:dead colour:red state:sleeping 42');
  });

  it.each([
    ['9007199254740993', 'unknown'],
    ['1e400', 'unknown'],
    ['0.12345678901234567890', 'unknown'],
    ['9007199254740992', 'payload'],
    ['-1.50e3', 'payload'],
    ['0.1', 'payload'],
    ['"9007199254740993"', 'payload'],
  ])('sends no other number than the one that was typed: %s', (value, word) => {
    expect(parseFilter(`payload.id:${value}`)[0]?.word).toBe(word);
  });

  it.each([
    ['payload.x:{"a":1}', 'A value is a text, a number, true, false or null. In quotes it is a text.'],
    ['payload.x:[1,2]', 'A value is a text, a number, true, false or null. In quotes it is a text.'],
    ['payload.x:a"b"', 'Quotes stand around a whole value.'],
    ['payload.x:"a"b', 'Quotes stand around a whole value.'],
    ['queue:"a"b,c', 'Quotes stand around a whole value.'],
  ])('refuses %s, of which it would make several values', (text, problem) => {
    expect(parseFilter(text)).toEqual([{ word: 'unknown', text, problem }]);
  });

  it.each([
    ['payload.id:42', '= 42'],
    ['payload.id:"42"', '= "42"'],
    ['payload.id:true,"true"', '= true or "true"'],
    ['payload.id:a', '= a'],
    ['payload.id:"[1]"', '= [1]'],
    ['created:2026-11-22', '2026-11-22 UTC'],
    ['created:2026-11-22..2026-11-23', '2026-11-22 UTC to 2026-11-23 UTC'],
    ['created:>2026-11-22T10:00Z', 'after 2026-11-22 10:00 UTC'],
    ['error:~gpj.\u202etxt', 'contains “gpj.[U+202E]txt”'],
  ])('says of %s what it asks for: %s', (text, value) => {
    expect(parseFilter(text).map((one) => labelOfChip(one).value)).toEqual([value]);
  });

  it('never fails on a text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (anything) => void parseFilter(anything)));
  });
});

describe('the example of the design', () => {
  const example = 'state:dead,held error:~timeout payload.customer.id:42 created:>-2h';

  it('is one in the box, the URL and the API', () => {
    const chips = parseFilter(example);
    expect(formatFilter(chips)).toBe(example);
    expect(toSearch({ q: example })).toBe('?q=state:dead,held+error:~timeout+payload.customer.id:42+created:%3E-2h');
    expect(toJobFilter(chips, NOW)).toEqual({
      states: ['DEAD', 'HELD'],
      errorContains: 'timeout',
      payload: { path: 'customer.id', op: 'EQ', value: 42 },
      created: { from: '2026-11-12T10:00:00.000Z' },
    });
    expect(chips.map(labelOfChip)).toEqual([
      { key: 'state', value: 'dead, held' },
      { key: 'error', value: 'contains “timeout”' },
      { key: 'customer.id', value: '= 42' },
      { key: 'created', value: 'last 2 h' },
    ]);
  });
});

describe('the API', () => {
  const api = (text: string) => toJobFilter(parseFilter(text), NOW);

  it.each([
    ['code:500,5xx,0', { webhookStatusCodes: [500], webhookStatusClasses: [5, 0] }],
    ['attempts:>2', { attempts: { min: 3 } }],
    ['attempts:<3', { attempts: { max: 2 } }],
    ['attempts:2..4', { attempts: { min: 2, max: 4 } }],
    ['state:pending', { states: ['DUE', 'SCHEDULED', 'RETRYING', 'HELD'] }],
    ['state:awaiting-ack', { states: ['AWAITING_ACK'] }],
    ['key:paid', { idempotencyKeyContains: 'paid' }],
    ['key:=orders-77', { idempotencyKey: 'orders-77' }],
    ['ever:500,5xx,0', { anyWebhookStatusCodes: [500], anyWebhookStatusClasses: [5, 0] }],
    ['holds:>2', { deferCount: { min: 3 } }],
    ['reason:nacked,holds-exhausted', { deadReasons: ['NACKED', 'DEFER_CAP_EXHAUSTED'] }],
    ['waits:pause,slot', { waitReasons: ['PAUSED', 'CONCURRENCY'] }],
    ['action:01a1cfa459463c7ed8a1f07c', { actionId: '01a1cfa459463c7ed8a1f07c' }],
    ['text:~"card declined"', { payload: { anywhere: 'card declined' } }],
    ['payload.a:1 text:b', { payload: { and: [{ path: 'a', op: 'EQ', value: 1 }, { anywhere: 'b' }] } }],
    ['payload.items.*.sku:A-1', { payload: { path: 'items.*.sku', op: 'EQ', value: 'A-1' } }],
    [
      'created:2026-11-12..2026-11-12',
      { created: { from: '2026-11-12T00:00:00.000Z', to: '2026-11-12T23:59:59.999Z' } },
    ],
    ['scheduled:<+1h', { scheduled: { to: '2026-11-12T13:00:00.000Z' } }],
    ['payload.a:1,2', { payload: { or: [1, 2].map((value) => ({ path: 'a', op: 'EQ', value })) } }],
    ['payload.a:"1"', { payload: { path: 'a', op: 'EQ', value: '1' } }],
    ['payload.a:!null', { payload: { path: 'a', op: 'NEQ', value: null } }],
    ['payload.a:*', { payload: { path: 'a', op: 'EXISTS' } }],
    [
      'payload.a:>1 payload.b:~x',
      {
        payload: {
          and: [
            { path: 'a', op: 'GT', value: 1 },
            { path: 'b', op: 'CONTAINS', value: 'x' },
          ],
        },
      },
    ],
    ['queue:a queue:b', { queueNames: ['a', 'b'] }],
    ['error:~a error:~b', { errorContains: 'b' }],
  ])('%s', (text, expected) => expect(api(text)).toEqual(expected));
});
