import { describe, expect, it } from 'vitest';
import { JobferryError } from '../../src/domain/errors.ts';
import { assertPublishable, type Publishable } from '../../src/domain/publish.ts';

/** Text that nests so deep, an object outside. */
function nested(depth: number): string {
  return `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
}

function refusedFields(job: Publishable): string[] {
  try {
    assertPublishable(job);
  } catch (error) {
    if (error instanceof JobferryError && error.kind === 'invalid_fields') return Object.keys(error.fields);
    throw error;
  }
  return [];
}

describe('a publish', () => {
  it.each<[string, Publishable]>([
    ['a payload alone', { payload: '{}' }],
    ['white space around it', { payload: ' \n{"a": 1}\t' }],
    ['values that only source text can express', { payload: '{"a":1e400,"a":-0,"b":"\\ud800","c":"\\u0000"}' }],
    ['100 levels', { payload: nested(100) }],
    ['the longest key', { payload: '{}', idempotencyKey: 'k'.repeat(255) }],
    ['no delay', { payload: '{}', delay: 0 }],
    ['a delay of a day', { payload: '{}', delay: 86_400 }],
    ['members that are undefined', { payload: '{}', idempotencyKey: undefined, delay: undefined }],
  ])('may have %s', (_what, job) => {
    expect(refusedFields(job)).toEqual([]);
  });

  it.each<[string, Partial<Publishable>, string[]]>([
    ['an empty payload', { payload: '' }, ['payload']],
    ['an array', { payload: '[]' }, ['payload']],
    ['a string', { payload: '"{}"' }, ['payload']],
    ['null', { payload: 'null' }, ['payload']],
    ['something after the object', { payload: '{}{}' }, ['payload']],
    ['something that is not JSON', { payload: '{a:1}' }, ['payload']],
    ['a byte order mark', { payload: '\ufeff{}' }, ['payload']],
    ['a lone surrogate that is no escape', { payload: '{"a":"\ud800"}' }, ['payload']],
    ['101 levels', { payload: nested(101) }, ['payload']],
    ['a million levels', { payload: nested(1_000_000) }, ['payload']],
    ['an empty key', { idempotencyKey: '' }, ['idempotencyKey']],
    ['a key that is too long', { idempotencyKey: 'k'.repeat(256) }, ['idempotencyKey']],
    ['NUL in the key', { idempotencyKey: 'a\0b' }, ['idempotencyKey']],
    ['half a character in the key', { idempotencyKey: 'a\udc00' }, ['idempotencyKey']],
    ['a negative delay', { delay: -0.001 }, ['delay']],
    ['a delay above a day', { delay: 86_400.001 }, ['delay']],
    ['a delay that is no number', { delay: Number.NaN }, ['delay']],
    ['an endless delay', { delay: Number.POSITIVE_INFINITY }, ['delay']],
    ['three mistakes', { payload: '1', idempotencyKey: '', delay: -1 }, ['payload', 'idempotencyKey', 'delay']],
  ])('must not have %s', (_what, job, fields) => {
    expect(refusedFields({ payload: '{}', ...job })).toEqual(fields);
  });
});
