import { expect, it } from 'vitest';
import type { PayloadCondition } from '../../src/domain/job-filter.ts';
import { payloadHint } from '../../src/domain/payload-hint.ts';

const SAMPLE = [
  { customer: { id: 42, name: 'Ada' }, items: [{ sku: 'A' }], ok: true, none: null, empty: {} },
  { customer: { id: 7 }, 'a.b': 1 },
];

const test = (
  path: string,
  value: string | number | null = 'x',
  op: 'EQ' | 'NEQ' | 'EXISTS' = 'EQ',
): PayloadCondition => ({
  kind: 'test',
  path,
  op,
  value,
});

it.each<[path: string, similar: string]>([
  ['items[0].sku', 'items.0.sku, or items.*.sku for any element'],
  ['items.sku', 'items.0.sku, or items.*.sku for any element'],
  ['$.customer.id', 'customer.id'],
  ['Customer.Id', 'customer.id'],
  ['id', 'customer.id'],
  ['order.customer.name', 'customer.name'],
  ['payload.sku', 'items.0.sku, or items.*.sku for any element'],
])('suggests for %s the path %s', (path, similar) => {
  expect(payloadHint(test(path), SAMPLE)).toBe(`no recent payload has the path ${path}: did you mean ${similar}?`);
});

it.each<[what: string, condition: PayloadCondition]>([
  ['a path that occurs', test('customer.name')],
  ['an object', test('customer')],
  ['an empty object', test('empty')],
  ['null', test('none')],
  ['a name with a dot', test(String.raw`a\.b`, 2)],
  ['an inequality', test('nowhere', 'x', 'NEQ')],
  ['a negation', { kind: 'not', of: test('nowhere') }],
  ['text anywhere', { kind: 'anywhere', text: 'nowhere' }],
  ['null as the value', test('customer.id', null)],
])('says nothing of %s', (_what, condition) => {
  expect(payloadHint(condition, SAMPLE)).toBeNull();
});

it('says which type a value has', () => {
  const hint = (path: string, value: string | number) => payloadHint(test(path, value), SAMPLE);
  expect(hint('customer.id', '42')).toBe(
    'in recent payloads customer.id is a number, and the value of the condition is a text',
  );
  expect(hint('ok', 'true')).toBe('in recent payloads ok is a boolean, and the value of the condition is a text');
});

it('looks into combinations, and needs a sample', () => {
  const both: PayloadCondition = { kind: 'and', of: [test('customer.id', 42), { kind: 'or', of: [test('nowhere')] }] };
  expect(payloadHint(both, SAMPLE)).toBe('no recent payload has the path nowhere');
  expect(payloadHint(both, [])).toBeNull();
  expect(payloadHint(undefined, SAMPLE)).toBeNull();
});
