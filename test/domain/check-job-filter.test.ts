import { describe, expect, it } from 'vitest';
import { assertJobFilter } from '../../src/domain/check-job-filter.ts';
import { JobferryError } from '../../src/domain/errors.ts';
import type { JobFilter, JsonScalar, PayloadCondition, PayloadOperator } from '../../src/domain/job-filter.ts';

function test(op: PayloadOperator, value: JsonScalar, path = 'a'): PayloadCondition {
  return { kind: 'test', path, op, value };
}

function anywhere(text: string): PayloadCondition {
  return { kind: 'anywhere', text };
}

function nested(depth: number): PayloadCondition {
  return depth === 1 ? test('EQ', 1) : { kind: 'not', of: nested(depth - 1) };
}

const everyMember: JobFilter = {
  queueIds: ['anything'],
  queueNames: ['orders'],
  states: ['due'],
  statuses: ['dead'],
  created: { from: new Date(0), to: new Date(1) },
  scheduled: {},
  completed: { to: new Date(8.64e15) },
  attempts: { min: 0, max: 25 },
  idempotencyKeyContains: '',
  errorContains: 'x'.repeat(1000),
  webhookStatusCodes: [500],
  webhookStatusClasses: [0, 5],
  payload: { kind: 'and', of: Array.from({ length: 20 }, () => test('EXISTS', null)) },
};

const refused: [what: string, filter: JobFilter][] = [
  ['too many queues', { queueIds: Array.from({ length: 101 }, () => 'x') }],
  ['NUL in a queue name', { queueNames: ['a\0'] }],
  ['a lone surrogate in a queue id', { queueIds: ['\udc00'] }],
  ['an unknown state', { states: ['sleeping' as 'due'] }],
  ['an unknown status', { statuses: [`dead' or 'a' = 'a` as 'dead'] }],
  ['an invalid date', { created: { from: new Date(Number.NaN) } }],
  ['a range of time from its end to its start', { scheduled: { from: new Date(2), to: new Date(1) } }],
  ['a range of numbers from its end to its start', { deferCount: { min: 1, max: 0 } }],
  ['half an attempt', { attempts: { min: 0.5 } }],
  ['more attempts than an integer holds', { attempts: { max: 2 ** 31 } }],
  ['a status code that is none', { webhookStatusCodes: [Number.NaN] }],
  ['a class that is none', { webhookStatusClasses: [-1] }],
  ['a long text', { errorContains: 'x'.repeat(1001) }],
  ['NUL in a text', { idempotencyKeyContains: '\0' }],
  ['21 payload conditions', { payload: { kind: 'or', of: Array.from({ length: 21 }, () => test('EQ', 1)) } }],
  ['21 texts anywhere', { payload: { kind: 'or', of: Array.from({ length: 21 }, () => anywhere('a')) } }],
  [
    '11 texts anywhere and 10 paths',
    { payload: { kind: 'and', of: Array.from({ length: 21 }, (_, n) => (n < 11 ? anywhere('a') : test('EQ', 1))) } },
  ],
  ['an empty text anywhere', { payload: anywhere('') }],
  ['payload conditions in 6 levels', { payload: nested(6) }],
  ['no payload condition', { payload: { kind: 'and', of: [] } }],
  ['an empty path', { payload: test('EQ', 1, '') }],
  ['NUL in a path', { payload: test('EQ', 1, 'a\0') }],
  ['NUL in a value', { payload: test('EQ', 'a\0') }],
  ['a lone surrogate in a value', { payload: test('CONTAINS', '\ud83d') }],
  ['a long value', { payload: test('EQ', 'x'.repeat(1001)) }],
  ['infinity', { payload: test('GT', Number.POSITIVE_INFINITY) }],
  ['an object as value', { payload: test('EQ', {} as unknown as null) }],
  ['greater than true', { payload: test('GT', true) }],
  ['less than null', { payload: test('LT', null) }],
  ['EXISTS with false', { payload: test('EXISTS', false) }],
  ['an unknown operator', { payload: test('LIKE' as 'EQ', 1) }],
];

describe('a job filter', () => {
  it('may have every member, up to the bounds', () => {
    expect(() => assertJobFilter(everyMember)).not.toThrow();
    expect(() => assertJobFilter({ payload: nested(5) })).not.toThrow();
    expect(() => assertJobFilter({})).not.toThrow();
  });

  it.each(refused)('is refused with %s', (_what, filter) => {
    expect(() => assertJobFilter(filter)).toThrow(JobferryError);
  });
});
