import { describe, expect, it } from 'vitest';
import { difference, labelOfKey, labelOfMember, OPERATOR } from '../../src/domain/audit.ts';

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
  ])('the difference that %j makes is %j', (changes, expected) => {
    expect(difference(present, changes)).toEqual(expected);
  });
});

it('labels never look alike: of a person by address, by name, of a key, of the operator', () => {
  const person = (email: string | null, name: string | null) => labelOfMember({ email, name, subject: 'sub-7' });
  const labels = [
    person('boss@x.test', 'Boss'),
    person(null, 'boss@x.test'),
    person(null, 'operator'),
    person('operator', null),
    person(null, 'k (jf_abc…wxyz)'),
    labelOfKey({ name: 'k', prefix: 'jf_abc', lastFour: 'wxyz' }),
    labelOfKey({ name: 'boss@x.test', prefix: 'jf_abc', lastFour: 'wxyz' }),
    OPERATOR.label,
  ];
  expect(new Set(labels).size).toBe(labels.length);
  expect(labels.slice(0, 4)).toEqual([
    'boss@x.test',
    'boss@x.test (person sub-7)',
    'operator (person sub-7)',
    'person sub-7',
  ]);
});
