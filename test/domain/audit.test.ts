import { describe, expect, it } from 'vitest';
import { difference } from '../../src/domain/audit.ts';

describe('the difference', () => {
  const present = { a: 1, b: null as number | null, c: 'x' };
  it.each([
    [{}, null],
    [{ a: 1, b: null, c: 'x' }, null],
    [{ a: 2 }, { before: { a: 1 }, after: { a: 2 } }],
    [
      { a: 1, b: 0, c: 'y' },
      { before: { b: null, c: 'x' }, after: { b: 0, c: 'y' } },
    ],
  ])('that %j makes is %j', (changes, expected) => {
    expect(difference(present, changes)).toEqual(expected);
  });
});
