import { beforeAll, describe, expect, it } from 'vitest';
import { groupJobs } from '../../src/db/search/job-groups.ts';
import { searchJobs } from '../../src/db/search/jobs.ts';
import type { JsonScalar, PayloadCondition, PayloadOperator } from '../../src/domain/job-filter.ts';
import { parsePath } from '../../src/domain/payload-path.ts';
import { PERIODS, RETENTION_MS } from '../support/database-fixture.ts';
import { NEWEST_FIRST, openSearchFixture } from '../support/search-fixture.ts';

/** Payloads by a name that the tests use. */
const PAYLOADS = {
  order:
    '{"customer":{"id":42,"name":"Ada Lovelace"},"total":19.90,"paid":true,"note":null,"tags":["gift","EU"],"items":[{"sku":"A1"},{"sku":"B2"}]}',
  sameNumber: '{"customer":{"id":42.0,"name":"Bob"},"total":1.990e1,"paid":false,"tags":[1,true,null]}',
  text42: '{"customer":{"id":"42"},"total":"19.90","note":"","tags":"gift"}',
  dotted: '{"customer.id":42,"back\\\\slash":1,"a":{"b.c":7}}',
  numberedKeys: '{"items":{"0":{"sku":"A1"},"-1":5,"01":6},"list":[10,20]}',
  huge: '{"n":1e400,"total":123456789012345678901234567890,"big":9007199254740993}',
  tooHuge: '{"n":1e999999,"m":-1e-999999,"customer":{"id":7}}',
  nul: '{"s":"a\\u0000b","literal":"\\\\u0000","customer":{"id":8}}',
  surrogates: '{"s":"x\\ud800y","pair":"\\ud83d\\ude00","low":"\\udc00","customer":{"id":9}}',
  duplicate: '{"a":1,"a":2}',
  dates: '{"at":"2026-03-01T12:00:00Z"}',
  unicode: '{"s":"\uffee","t":"Straße"}',
  emoji: '{"s":"😀"}',
  quote: `{"s":"it's \\"quoted\\" \\\\ %_","k'ey":1}`,
  empty: '{}',
  nested: '{"x":[[1,2],[{"y":3}]],"y":{"z":{"w":[]}}}',
  tooLong: `{"customer":{"id":42},"fill":"${'x'.repeat(70_000)}"}`,
  tooFine: `{"n":0.${'0'.repeat(20_000)}1,"customer":{"id":42}}`,
} as const;
type Name = keyof typeof PAYLOADS;

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
const ids = new Map<string, Name>();

async function names(payload: PayloadCondition): Promise<Name[]> {
  const found = await fixture.findEveryWay({ payload });
  return [...found].map((id) => ids.get(id) as Name).sort();
}

function test(path: string, op: PayloadOperator, value: JsonScalar = null): PayloadCondition {
  return { kind: 'test', path, op, value };
}

const SEARCHABLE = (Object.keys(PAYLOADS) as Name[]).filter((name) => name !== 'tooLong' && name !== 'tooFine');
const allBut = (...without: Name[]) => SEARCHABLE.filter((name) => !without.includes(name));

const CASES: [path: string, op: PayloadOperator, value: JsonScalar, found: Name[]][] = [
  ['customer.id', 'EQ', 42, ['order', 'sameNumber']],
  ['customer.id', 'EQ', '42', ['text42']],
  ['customer', 'EQ', 42, []],
  ['customer.id.x', 'EQ', 42, []],
  ['customer.id', 'NEQ', 42, allBut('order', 'sameNumber')],
  ['paid', 'EQ', true, ['order']],
  ['paid', 'EQ', false, ['sameNumber']],
  ['note', 'EQ', null, ['order']],
  ['note', 'EQ', '', ['text42']],
  ['total', 'EQ', 19.9, ['order', 'sameNumber']],
  ['total', 'EQ', 1.2345678901234568e29, []],
  ['n', 'EQ', null, ['tooHuge']],
  [String.raw`customer\.id`, 'EQ', 42, ['dotted']],
  [String.raw`back\\slash`, 'EQ', 1, ['dotted']],
  [String.raw`a.b\.c`, 'EQ', 7, ['dotted']],
  ['items.0.sku', 'EQ', 'A1', ['numberedKeys', 'order']],
  ['items.1.sku', 'EQ', 'A1', []],
  ['items.1.sku', 'EQ', 'B2', ['order']],
  ['items.-1.sku', 'EQ', 'B2', []],
  ['items.-1', 'EQ', 5, ['numberedKeys']],
  ['items.01', 'EQ', 6, ['numberedKeys']],
  ['items.00.sku', 'EXISTS', null, []],
  ['list.+1', 'EXISTS', null, []],
  ['list.1', 'EQ', 20, ['numberedKeys']],
  ['list.99999999999999999999', 'EXISTS', null, []],
  ['items.sku', 'EQ', 'A1', []],
  ['tags', 'EQ', 'gift', ['text42']],
  ['a', 'EQ', 2, ['duplicate']],
  ['a', 'EQ', 1, []],
  ["k'ey", 'EQ', 1, ['quote']],
  ['s', 'EQ', 'a\ufffdb', ['nul']],
  ['literal', 'EQ', '\\u0000', ['nul']],
  ['s', 'EQ', 'x\ufffdy', ['surrogates']],
  ['pair', 'EQ', '😀', ['surrogates']],
  ['low', 'EQ', '\ufffd', ['surrogates']],
  ['x.0.1', 'EQ', 2, ['nested']],
  ['x.1.0.y', 'EQ', 3, ['nested']],
  ['customer.id', 'GT', 41.5, ['order', 'sameNumber']],
  ['customer.id', 'GT', 42, []],
  ['customer.id', 'LT', 9, ['nul', 'tooHuge']],
  ['customer.id', 'GT', '41', ['text42']],
  ['n', 'GT', 1e308, ['huge']],
  ['big', 'GT', 9007199254740992, ['huge']],
  ['at', 'GT', '2026-02', ['dates']],
  ['at', 'LT', '2026-02', []],
  ['s', 'GT', '\uffef', ['emoji']],
  ['s', 'LT', 'b', ['nul']],
  ['tags', 'GT', 0, []],
  ['customer.name', 'CONTAINS', 'LOVE', ['order']],
  ['s', 'CONTAINS', '%_', ['quote']],
  ['s', 'CONTAINS', '"QUOTED"', ['quote']],
  ['tags', 'CONTAINS', 'gift', ['order', 'text42']],
  ['tags', 'CONTAINS', 'eu', []],
  ['tags', 'CONTAINS', 1, ['sameNumber']],
  ['tags', 'CONTAINS', true, ['sameNumber']],
  ['tags', 'CONTAINS', null, ['sameNumber']],
  ['total', 'CONTAINS', '19', ['text42']],
  ['x', 'CONTAINS', 1, []],
  ['x.0', 'CONTAINS', 1, ['nested']],
  ['note', 'EXISTS', null, ['order', 'text42']],
  ['y.z', 'EXISTS', true, ['nested']],
  ['y.z.w.0', 'EXISTS', null, []],
  ['nowhere', 'EXISTS', null, []],
  ['nowhere', 'NEQ', 1, SEARCHABLE],
];

describe.each(['parsed on the fly', 'indexed'])('%s: a payload', (state) => {
  beforeAll(async () => {
    ids.clear();
    fixture = await openSearchFixture();
    const queue = await fixture.createQueue();
    const inserted = await fixture.insertPayloads(queue, Object.values(PAYLOADS));
    for (const [index, name] of (Object.keys(PAYLOADS) as Name[]).entries()) ids.set(inserted[index] ?? '', name);
    if (state === 'indexed') expect(await fixture.indexAll()).toBe(inserted.length);
  });

  it.each(CASES)('%s %s %j', async (path, op, value, found) => {
    expect(await names(test(path, op, value))).toEqual([...found].sort());
  });

  const is42 = test('customer.id', 'EQ', 42);
  const isPaid = test('paid', 'EQ', true);
  it.each<[string, PayloadCondition, Name[]]>([
    ['and', { kind: 'and', of: [is42, isPaid] }, ['order']],
    ['and of what contradicts itself', { kind: 'and', of: [is42, test('customer.id', 'EQ', 43)] }, []],
    ['or', { kind: 'or', of: [isPaid, test('at', 'EXISTS')] }, ['dates', 'order']],
    ['or of what the index knows', { kind: 'or', of: [isPaid, test('a', 'EQ', 2)] }, ['duplicate', 'order']],
    ['not', { kind: 'not', of: is42 }, allBut('order', 'sameNumber')],
    ['not not', { kind: 'not', of: { kind: 'not', of: is42 } }, ['order', 'sameNumber']],
    ['not NEQ', { kind: 'not', of: test('customer.id', 'NEQ', 42) }, ['order', 'sameNumber']],
    [
      'not EXISTS',
      { kind: 'not', of: test('customer', 'EXISTS') },
      allBut('order', 'sameNumber', 'text42', 'tooHuge', 'nul', 'surrogates'),
    ],
    [
      'not or, of what is not there',
      { kind: 'not', of: { kind: 'or', of: [test('customer.id', 'NEQ', 42), { kind: 'not', of: isPaid }] } },
      ['order'],
    ],
    [
      'and of an or',
      { kind: 'and', of: [is42, { kind: 'or', of: [test('total', 'GT', 100), test('tags', 'CONTAINS', 1)] }] },
      ['sameNumber'],
    ],
  ])('payloads are found by the condition: %s', async (_name, condition, found) => {
    expect(await names(condition)).toEqual([...found].sort());
  });

  it.each<[text: string, found: Name[]]>([
    ['LOVELACE', ['order']],
    ['customer.id', ['dotted']],
    ['"quoted" \\ %_', ['quote']],
    ['quoted\\"', []],
    // This is part of the JSON text, but of no value.
    [', ', []],
    ['{', []],
    ['":', []],
    ['u0000', ['nul']],
    ['\ufffd', ['nul', 'surrogates']],
    ['19.9', ['order', 'sameNumber', 'text42']],
    ['false', ['sameNumber']],
    ['null', ['order', 'sameNumber', 'tooHuge']],
  ])('a search for %j anywhere finds the payloads that have it in a value', async (text, found) => {
    expect(await names({ kind: 'anywhere', text })).toEqual([...found].sort());
  });

  it.each<[path: string, groups: [value: string, count: number][]]>([
    // 42 and 42.0 are the same number.
    [
      'customer.id',
      [
        ['"42"', 1],
        ['42', 2],
        ['7', 1],
        ['8', 1],
        ['9', 1],
      ],
    ],
    // A name, and not the last element of an array.
    ['tags.-1', []],
    ['items.-1', [['5', 1]]],
    ['items.01', [['6', 1]]],
    ['list.1', [['20', 1]]],
    [
      'note',
      [
        ['""', 1],
        ['null', 1],
      ],
    ],
  ])('is counted by its value at %s', async (path, groups) => {
    const counted = await groupJobs(fixture.db, fixture.select({}), ['payload'], parsePath(path));
    const found = counted.flatMap(({ value, count }) => (value === null ? [] : [[value, count]]));
    expect(found.sort()).toEqual(groups);
  });

  it('a payload that cannot be searched meets no condition, and is found without one', async () => {
    const all = await searchJobs(fixture.db, fixture.select({}), NEWEST_FIRST, { limit: 1000, inverted: false });
    expect(all).toHaveLength(Object.keys(PAYLOADS).length);
    expect(await names({ kind: 'not', of: test('nowhere', 'EXISTS') })).toEqual([...SEARCHABLE].sort());
  });

  it('belongs to its account', async () => {
    const other = await fixture.db.one<{ id: string }>(
      `insert into account (name, plan) values ('other', 'pro') returning id`,
    );
    const selection = {
      accountId: other?.id ?? '',
      filter: { payload: is42 },
      windowMs: RETENTION_MS,
      periods: PERIODS,
    };
    expect(await searchJobs(fixture.db, selection, NEWEST_FIRST, { limit: 10, inverted: false })).toEqual([]);
  });
});
