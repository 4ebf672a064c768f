import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contract } from '../../src/contract/index.ts';
import { LeanEffects, lean, shortArray } from '../../src/contract/lean.ts';

const even = (schema: z.ZodNumber) => schema.refine((value) => value % 2 === 0, 'must be even');
const half = (schema: z.ZodNumber) =>
  schema.transform((value, context) => {
    if (value >= 0) return value / 2;
    context.addIssue({ code: z.ZodIssueCode.custom, message: `negative at ${context.path.join('.')}`, fatal: true });
    return z.NEVER;
  });
const strictHalf = (schema: z.ZodNumber) => half(schema).pipe(z.number().max(10));

describe('lean', () => {
  it.each([
    ['a refinement that holds', even(z.number()), lean(even(z.number())), 4],
    ['a refinement that fails', even(z.number()), lean(even(z.number())), 3],
    ['a refinement after a failed check', even(z.number().max(2)), lean(even(z.number().max(2))), 5],
    ['a refinement of another type', even(z.number()), lean(even(z.number())), 'x'],
    ['a transform', half(z.number()), lean(half(z.number())), 4],
    ['a transform that refuses', half(z.number()), lean(half(z.number())), -1],
    ['a transform after a failed check', half(z.number().max(2)), lean(half(z.number().max(2))), 5],
    ['a transform of another type', half(z.number()), lean(half(z.number())), null],
    ['a description', half(z.number()).describe('d'), lean(half(z.number())).describe('d'), 8],
    ['a pipe', strictHalf(z.number()), lean(half(z.number())).pipe(z.number().max(10)), 50],
  ])('answers as zod does: %s', async (_, plain, own, value) => {
    const wrap = (schema: z.ZodTypeAny) => z.object({ list: z.array(schema), rest: z.string() });
    const input = { list: [value], rest: 1 };
    expect(answerOf(own.safeParse(value))).toEqual(answerOf(plain.safeParse(value)));
    expect(answerOf(wrap(own).safeParse(input))).toEqual(answerOf(wrap(plain).safeParse(input)));
    expect(answerOf(await own.safeParseAsync(value))).toEqual(answerOf(await plain.safeParseAsync(value)));
  });

  it('is what every schema of the contract uses', () => {
    const plain = schemasOf(contract).filter((one) => one instanceof z.ZodEffects && !(one instanceof LeanEffects));
    expect(plain.map(({ description }) => description)).toEqual([]);
  });
});

/** Without the getter, which is never equal to another. */
function answerOf({ success, data, error }: z.SafeParseReturnType<unknown, unknown>) {
  return { success, data, issues: error?.issues };
}

/** Every schema that is part of the value, wherever in it. */
function schemasOf(value: unknown, seen = new Set<unknown>()): z.ZodTypeAny[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const parts = value instanceof z.ZodObject ? [...Object.values(value._def), value.shape] : Object.values(value);
  const inner = parts.flatMap((part) => schemasOf(part, seen));
  return value instanceof z.ZodType ? [value, ...inner] : inner;
}

describe('shortArray', () => {
  const schema = shortArray(z.string().describe('an item'), { min: 1, max: 3 });

  it('names its length alone, if it is too long', () => {
    const issues = (value: unknown) =>
      schema.safeParse(value).error?.issues.map(({ code, path }) => [code, path.length]);
    expect(issues(Array(4).fill(1))).toEqual([['too_big', 0]]);
    expect(issues([1, 'a', 2])).toEqual([
      ['invalid_type', 1],
      ['invalid_type', 1],
    ]);
    expect(issues([])).toEqual([['too_small', 0]]);
    expect(issues(['a', 'b', 'c'])).toBeUndefined();
  });

  it('stays one with a description', () => {
    expect(schema.describe('items').safeParse(Array(4).fill(1)).error?.issues).toHaveLength(1);
  });
});
