import { expect, it, onTestFinished, vi } from 'vitest';
import type { PayloadCondition } from '../../src/domain/job-filter.ts';
import { payloadHint } from '../../src/domain/payload-hint.ts';

const SAMPLE = [
  { customer: { id: 42, name: 'Ada' }, items: [{ sku: 'A' }], ok: true, none: null, empty: {} },
  { customer: { id: 7 }, 'a.b': 1 },
];

/** The hint of a condition, from the payloads of a sample. */
const hintFor = (payload: PayloadCondition | undefined, sample: readonly unknown[] = SAMPLE) =>
  payloadHint(payload, async (visit) => {
    for (const one of sample) visit(one);
  });

const test = (
  path: string,
  value: string | number | null = 'x',
  op: 'EQ' | 'NEQ' | 'GT' | 'LT' | 'EXISTS' = 'EQ',
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
])('suggests for %s the path %s', async (path, similar) => {
  expect(await hintFor(test(path))).toBe(`no recent payload has the path ${path}: did you mean ${similar}?`);
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
])('says nothing of %s', async (_what, condition) => {
  expect(await hintFor(condition)).toBeNull();
});

it('says which type a value has', async () => {
  const hint = (path: string, value: string | number, op?: 'GT' | 'LT') => hintFor(test(path, value, op));
  expect(await hint('customer.id', '42')).toBe(
    'in recent payloads customer.id is a number, and the value of the condition is a text',
  );
  expect(await hint('ok', 'true')).toBe('in recent payloads ok is a boolean, and the value of the condition is a text');
  expect(await hint('customer.id', '41', 'GT')).toBe(
    'in recent payloads customer.id is a number, and the value of the condition is a text',
  );
  expect(await hint('customer.name', 7, 'LT')).toBe(
    'in recent payloads customer.name is a text, and the value of the condition is a number',
  );
  expect(await hint('customer.id', 99, 'GT')).toBeNull();
});

it('looks into combinations, and needs a sample', async () => {
  const both: PayloadCondition = { kind: 'and', of: [test('customer.id', 42), { kind: 'or', of: [test('nowhere')] }] };
  expect(await hintFor(both)).toBe('no recent payload has the path nowhere');
  expect(await hintFor(both, [])).toBeNull();
  // `customer 42` asks for the number and for the text.
  const either = { kind: 'or', of: [test('customer.id', '42'), test('customer.id', 42)] } as const;
  expect(await hintFor(either)).toBeNull();
  const neither = { kind: 'or', of: [test('nowhere'), test('customer.id', '42')] } as const;
  expect(await hintFor(neither)).toBe('no recent payload has the path nowhere');
  expect(await hintFor(undefined)).toBeNull();
});

it.each<[path: string, similar: string]>([
  [`items['0']["sku"]`, 'items.0.sku, or items.*.sku for any element'],
  [`$['customer'].id`, 'customer.id'],
])('understands brackets as in %s', async (path, similar) => {
  expect(await hintFor(test(path))).toBe(`no recent payload has the path ${path}: did you mean ${similar}?`);
});

it('compares each path once, and no more than 10 000', async () => {
  const normalise = vi.spyOn(String.prototype, 'toLowerCase');
  onTestFinished(() => normalise.mockRestore());
  const wide = (n: number) => Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${n}x${i}`, 1]));
  const sample = Array.from({ length: 200 }, (_, n) => wide(n));
  expect(await hintFor(test('q'), [...sample, ...sample])).toBe('no recent payload has the path q');
  // Once for the path of the condition.
  expect(normalise).toHaveBeenCalledTimes(10_001);
});
