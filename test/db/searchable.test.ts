import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture } from '../support/database-fixture.ts';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
});

const repeat = (part: string) => (length: number) => part.repeat(Math.floor(length / part.length));
const inText = (part: string) => (length: number) => `{"a":"${repeat(part)(length)}"}`;
const inList = (part: string) => (length: number) => `{"a":[${repeat(`${part},`)(length)}0]}`;

/** Valid payloads of about `length` characters. Some are refused by jsonb at first, and are then replaced in part. */
const HOSTILE: Record<string, (length: number) => string> = {
  'second halves of pairs': inText('\\udc00'),
  'first halves of pairs': inText('\\ud800'),
  'pairs the wrong way round': inText('\\udc00\\ud800'),
  'pairs with one half too many': inText('\\ud83d\\ude00\\udc00'),
  'a lone half behind plain text': (length) => `{"a":"${'x'.repeat(length)}\\udc00"}`,
  'a lone half behind escaped backslashes': (length) => `{"a":"${repeat('\\\\')(length)}\\udc00"}`,
  'a lone half behind text like an escape': (length) => `{"a":"${repeat('ud8')(length)}\\udc00"}`,
  'NUL escapes': inText('\\u0000'),
  'numbers without a place in numeric': inList('1e999999'),
  'numbers with spaces': inList('1e999999        '),
  'text like such numbers': (length) => `{"b":"\\ud800","a":"${repeat(':1e99999 ')(length)}"}`,
  'a long number': (length) => `{"b":"\\ud800","a":1${repeat('1')(length)}}`,
  'a long number in text': (length) => `{"b":"\\ud800","a":":${repeat('1')(length)}"}`,
  'a long exponent in text': (length) => `{"b":"\\ud800","a":":1e${repeat('1')(length)}"}`,
  'colons and spaces': (length) => `{"b":"\\ud800","a":"${repeat(': ')(length)}"}`,
  'spaces after a colon': (length) => `{"b":"\\ud800","a":${' '.repeat(length)}1}`,
  'many keys': (length) => `{"b":"\\ud800",${Array.from({ length: length / 10 }, (_, n) => `"k${n}":1`).join()}}`,
  'many keys the same': (length) => `{"b":"\\ud800",${Array.from({ length: length / 7 }, () => `"k":1`).join()}}`,
  'deep lists': inList(`${'['.repeat(90)}"\\ud800"${']'.repeat(90)}`),
};

/**
 * SQL: CPU time of the session so far in milliseconds. Without Linux the clock,
 * which also counts while others have the CPU.
 */
const CPU_MS = existsSync('/proc/self/schedstat')
  ? `split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6`
  : 'extract(epoch from clock_timestamp())::float8 * 1000';

/** CPU time of an expression in milliseconds. */
async function cpuOf(expression: string, text: string): Promise<number> {
  const row = await fixture.db.one<{ ms: number }>(
    // A constant would be worked out while the statement is planned, before the time is read.
    `with started as materialized (select ${CPU_MS} as at, $1::text as text),
          done as materialized (select ${expression} as result, at from started)
     select ${CPU_MS} - at as ms, result from done`,
    [text],
  );
  return row?.ms ?? Number.NaN;
}

/** Beside other tests a measurement may be too long many times; work that is quadratic is so each time. */
const MAX_ROUNDS = 40;

/** Four times the length takes four times as long, or sixteen times when the work is quadratic. */
async function expectLinear(expression: string, make: (length: number) => string, lengths: [number, number]) {
  const [short, long] = [make(lengths[0]), make(lengths[1])];
  expect(() => JSON.parse(long)).not.toThrow();
  let [base, measured] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    base = Math.min(base, await cpuOf(expression, short));
    measured = Math.min(measured, await cpuOf(expression, long));
    if (round >= 3 && measured < Math.max(base, 3) * 12) return;
  }
  expect(measured).toBeLessThan(Math.max(base, 3) * 12);
}

describe('a payload of 64 KiB is made searchable in linear time:', () => {
  it.each(Object.keys(HOSTILE))('%s', async (name) => {
    await expectLinear('jobferry_searchable(text)', HOSTILE[name] ?? String, [16_000, 64_000]);
  });
});

/**
 * Errors that receivers may make up; it is the first thousand characters that are looked at,
 * while outcomes are written.
 */
const ERRORS: Record<string, string> = {
  digits: '1',
  'letters that could be digits': 'a',
  'digits and letters': 'a1',
  dashes: '-',
  'parts of a UUID': 'abc1-',
  'long parts of a UUID': 'abcdefabcdef0123-',
  'almost a UUID': 'abc-',
  'letters that are no digits': 'z',
  fractions: '1.',
  spaces: ' a',
  'upper case': 'İ',
};

describe('an error is brought into its group in linear time:', () => {
  it.each(Object.entries(ERRORS))('%s', async (_name, part) => {
    const make = (ending: string) => (length: number) => `"${repeat(part)(length - 2)}${ending}"`;
    await expectLinear('jobferry_normalised(text)', make(''), [250, 1000]);
    await expectLinear('jobferry_normalised(text)', make('!'), [250, 1000]);
    await expectLinear('jobferry_normalised(text)', make('!'), [1000, 100_000]);
  });
});

describe('the halves of surrogate pairs', () => {
  it.each([
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud800\\ude00\\udc00"', '\u{10200}\ufffd'],
    ['"\\ud800\\ud83d\\uDE00"', '\ufffd😀'],
    ['"\\udc00\\ud800"', '\ufffd\ufffd'],
    ['"\\\\ud800 \\ud800"', '\\ud800 \ufffd'],
    ['"\\\\\\udc00\\\\"', '\\\ufffd\\'],
    ['"\\u0001\\uDBFF\\uDFFF\\uDFFF"', '\u0001\u{10ffff}\ufffd'],
  ])('%s', async (source, text) => {
    const row = await fixture.db.one<{ doc: unknown }>('select jobferry_searchable($1) as doc', [`{"a":${source}}`]);
    expect(row?.doc).toEqual({ a: text });
  });
});
