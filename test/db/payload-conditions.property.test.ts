import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JsonScalar, PayloadCondition } from '../../src/domain/job-filter.ts';
import { ANY, formatPath, type PathStep } from '../../src/domain/payload-path.ts';
import { openSearchFixture } from '../support/search-fixture.ts';

/** The meaning of a condition, implemented again outside SQL. */
function holds(condition: PayloadCondition, payload: unknown): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every((part) => holds(part, payload));
    case 'or':
      return condition.of.some((part) => holds(part, payload));
    case 'not':
      return !holds(condition.of, payload);
    case 'anywhere':
      return textsIn(payload).some((one) => one.toLowerCase().includes(condition.text.toLowerCase()));
    case 'test': {
      if (condition.op === 'NEQ') return !holds({ ...condition, op: 'EQ' }, payload);
      const found = valuesAt(payload, NAMES_OF.get(condition.path) ?? []);
      return found.some((value) => testHolds(condition, value));
    }
  }
}

/** Its names, and its values as text. */
function textsIn(payload: unknown): string[] {
  if (Array.isArray(payload)) return payload.flatMap(textsIn);
  if (typeof payload !== 'object' || payload === null) return [String(payload)];
  return Object.entries(payload).flatMap(([name, value]) => [name, ...textsIn(value)]);
}

const MISSING = Symbol('missing');

function testHolds({ op, value }: Extract<PayloadCondition, { kind: 'test' }>, found: unknown): boolean {
  switch (op) {
    case 'EXISTS':
      return found !== MISSING;
    case 'EQ':
      return found === value;
    case 'NEQ':
      return found !== value;
    case 'GT':
    case 'LT': {
      if (typeof found !== typeof value || found === null || value === null) return false;
      const sign =
        typeof found === 'number'
          ? found - Number(value)
          : Buffer.compare(Buffer.from(String(found)), Buffer.from(String(value)));
      return op === 'GT' ? sign > 0 : sign < 0;
    }
    case 'CONTAINS':
      if (Array.isArray(found)) return found.includes(value);
      return (
        typeof found === 'string' && typeof value === 'string' && found.toLowerCase().includes(value.toLowerCase())
      );
  }
}

/** All values that a path with `*` leads to. */
function valuesAt(payload: unknown, path: readonly PathStep[]): unknown[] {
  const star = path.indexOf(ANY);
  if (star === -1) return [valueAt(payload, path as string[])];
  const array = valueAt(payload, path.slice(0, star) as string[]);
  return Array.isArray(array) ? array.flatMap((element) => valuesAt(element, path.slice(star + 1))) : [];
}

function valueAt(payload: unknown, names: readonly string[]): unknown {
  let value = payload;
  for (const name of names) {
    if (Array.isArray(value)) {
      value = /^(0|[1-9][0-9]*)$/.test(name) && Number(name) < value.length ? value[Number(name)] : MISSING;
    } else if (typeof value === 'object' && value !== null && Object.hasOwn(value, name)) {
      value = (value as Record<string, unknown>)[name];
    } else {
      return MISSING;
    }
  }
  return value;
}

// Few names and values, so that conditions meet payloads.
const name = fc.constantFrom('a', 'b', 'x.y', '0', '1', '-1', '01', '\\', '__proto__', 'ä', '*');
const step = fc.oneof({ weight: 4, arbitrary: name }, { weight: 1, arbitrary: fc.constant(ANY) });
const number = fc.constantFrom(0, 1, -1, 1.5, 1e21, 5e-7, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE);
const plain = ['', 'a', 'A', 'Ab', '1', 'true', '\u{1f600}', '\uffee', '"', "'", '%', '\\u0000'];
const text = fc.constantFrom(...plain, 'b\nfoo', '\t');
/** Also parts of the JSON text that are no parts of a value: of escapes, and of what separates values. */
const anyText = fc.constantFrom(
  ...plain.slice(1),
  'nfoo',
  'u0000',
  '", "',
  '": ',
  ', ',
  '{}',
  '[]',
  'null',
  'x.Y',
  '01',
);
const scalar: fc.Arbitrary<JsonScalar> = fc.oneof(number, text, fc.boolean(), fc.constant(null));
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const payload = fc.dictionary(name, anyValue, { minKeys: 1, maxKeys: 4, noNullPrototype: true });

const NAMES_OF = new Map<string, PathStep[]>();
const path = fc.array(step, { minLength: 1, maxLength: 3 }).map((names) => {
  NAMES_OF.set(formatPath(names), names);
  return formatPath(names);
});
const test: fc.Arbitrary<PayloadCondition> = fc.oneof(
  fc.record({
    kind: fc.constant('test' as const),
    path,
    op: fc.constantFrom('EQ' as const, 'NEQ' as const, 'CONTAINS' as const),
    value: scalar,
  }),
  fc.record({
    kind: fc.constant('test' as const),
    path,
    op: fc.constantFrom('GT' as const, 'LT' as const),
    value: fc.oneof(number, text),
  }),
  fc.record({ kind: fc.constant('test' as const), path, op: fc.constant('EXISTS' as const), value: fc.constant(null) }),
  fc.record({ kind: fc.constant('anywhere' as const), text: anyText }),
);
const { condition } = fc.letrec<{ condition: PayloadCondition }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    test,
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      of: fc.array(tie('condition'), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant('not' as const), of: tie('condition') }),
  ),
}));

let fixture: Awaited<ReturnType<typeof openSearchFixture>>;
const payloads = new Map<string, unknown>();

beforeAll(async () => {
  fixture = await openSearchFixture();
  const queue = await fixture.createQueue();
  const sources = fc.sample(payload, 300).map((one) => JSON.stringify(one));
  for (const [index, source] of sources.entries()) {
    // Half of them are searched by the index, the others as they are.
    if (index === sources.length / 2) await fixture.indexAll();
    payloads.set(await fixture.insertJob({ queue, payload: source, ageMs: 60_000 - index }), JSON.parse(source));
  }
});

describe('searching', () => {
  it('finds exactly the payloads for which a condition holds', async () => {
    let conditionsThatTell = 0;
    await fc.assert(
      fc.asyncProperty(condition, async (payloadCondition) => {
        const found = await fixture.findEveryWay({ payload: payloadCondition });
        const expected = [...payloads].filter(([, one]) => holds(payloadCondition, one)).map(([id]) => id);
        expect([...found].sort()).toEqual(expected.sort());
        if (found.size > 0 && found.size < payloads.size) conditionsThatTell += 1;
      }),
      { numRuns: 250 },
    );
    expect(conditionsThatTell).toBeGreaterThan(50);
  });
});
