import { describe, expect, it } from 'vitest';
import * as format from '../../packages/query/words/format.ts';

/** Spaces that do not break read as spaces here. */
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

const NOW = Date.parse('2026-11-12T12:04:11.000Z');
const view = { now: NOW, zone: 'utc' } as const;
const at = (text: string) => Date.parse(text);

describe('numbers', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1000, '1 000'],
    [1234567, '1 234 567'],
  ])('%d is %s', (value, text) => expect(plain(format.number(value))).toBe(text));

  it('marks a count that stopped', () => {
    expect(plain(format.count(10_000, false))).toBe('10 000+');
    expect(plain(format.count(10_000))).toBe('10 000');
  });

  it('has one and many', () => {
    expect(plain(format.many(1, 'job'))).toBe('1 job');
    expect(plain(format.many(2, 'job waits', 'jobs wait'))).toBe('2 jobs wait');
  });

  it.each([
    [1, 3, '33 %'],
    [99.95, 100, '99.9 %'],
    [100, 100, '100 %'],
    [1, 200, '0.5 %'],
    [1, 5000, 'under 0.1 %'],
    [0, 5000, '0 %'],
    [991, 1000, '99.1 %'],
    [0, 0, '–'],
  ])('%d of %d is %s', (part, whole, text) => expect(plain(format.percent(part, whole))).toBe(text));

  it.each([
    [396, '396 B'],
    [1024, '1 KiB'],
    [12_700, '12.4 KiB'],
    [1024 * 1024, '1 MiB'],
  ])('%d bytes are %s', (value, text) => expect(plain(format.bytes(value))).toBe(text));
});

describe('spans', () => {
  it.each([
    [-5, '0 s'],
    [0, '0 s'],
    [1, '1 s'],
    [10_500, '11 s'],
    [60_000, '1 min'],
    [124_000, '2 min 4 s'],
    [7_440_000, '2 h 4 min'],
    [3_601_000, '1 h'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms are %s', (ms, text) => expect(plain(format.span(ms))).toBe(text));

  it.each([
    [212, '212 ms', '212 ms'],
    [1200, '1.2 s', '1.20 s'],
    [15_000, '15 s', '15.00 s'],
    [124_000, '2 min 4 s', '2 min 4 s'],
  ])('%d ms took %s, in a column %s', (ms, short, exact) => {
    expect(plain(format.took(ms))).toBe(short);
    expect(plain(format.tookExactly(ms))).toBe(exact);
  });

  it.each([
    [15, '15 s'],
    [0.25, '250 ms'],
    [1.5, '1.5 s'],
    [300, '5 min'],
    [86_400, '24 h'],
    [259_200, '72 h'],
    [604_800, '7 d'],
  ])('a setting of %d s is %s', (value, text) => expect(plain(format.seconds(value))).toBe(text));
});

describe('times', () => {
  it.each([
    ['2026-11-12T12:04:22Z', '12:04:22'],
    ['2026-11-13T12:03:36Z', '13 Nov, 12:03:36'],
    ['2025-11-12T12:03:36Z', '12 Nov 2025, 12:03:36'],
  ])('%s is %s', (time, text) => expect(plain(format.time(at(time), view))).toBe(text));

  it('has minutes, tenths and all', () => {
    expect(plain(format.minute(at('2026-11-12T11:40:59Z'), view))).toBe('11:40');
    expect(plain(format.timeWithTenths(at('2026-11-12T12:03:36.902Z'), view))).toBe('12:03:36.9');
    expect(plain(format.exactTime(at('2026-11-12T12:03:36.902Z'), 'utc'))).toBe('12 Nov 2026, 12:03:36.902');
  });

  it('uses the zone of choice', () => {
    const local = new Date(NOW);
    const hours = String(local.getHours()).padStart(2, '0');
    expect(format.minute(NOW, { now: NOW, zone: 'local' })).toBe(
      `${hours}:${String(local.getMinutes()).padStart(2, '0')}`,
    );
  });

  it.each([
    [0, 'now'],
    [-999, 'now'],
    [34_000, '34 s ago'],
    [125_000, '2 min ago'],
    [24 * 60_000, '11:40'],
    [3 * 86_400_000, '9 Nov'],
    [-11_000, 'in 11 s'],
  ])('%d ms before now is %s', (ms, text) => expect(plain(format.ago(NOW - ms, view))).toBe(text));
});

describe('words of others', () => {
  it.each([
    ['sku unknown', '“sku unknown”'],
    ['x'.repeat(330), `“${'x'.repeat(119)}…”`],
    ['😀'.repeat(121), `“${'😀'.repeat(119)}…”`],
    ['a\u202eb\u2069c', '“a[U+202E]b[U+2069]c”'],
  ])('%j are quoted as %s', (text, quoted) => expect(format.quote(text)).toBe(quoted));
});
