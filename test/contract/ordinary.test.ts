import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contract, ignoredIn, VerbatimJson } from '../../src/contract/index.ts';
import { ordinary } from '../../src/contract/ordinary.ts';

const ROUTE = contract.jobs.publish;
const parse = ordinary(ROUTE.body);
const payload = new VerbatimJson('{}');

describe('an ordinary body of a publish', () => {
  it('is parsed as the schema does, and every other one is left to the schema', () => {
    const any = fc.oneof(
      fc.constantFrom<unknown>(null, payload, 0, 0.5, 86_400, 86_401, -1, Number.NaN, '', 'k', '\0', '\ud800'),
      fc.constantFrom('x'.repeat(255), 'x'.repeat(256)),
      // JSON has no `undefined`.
      fc.anything().filter((one) => one !== undefined),
    );
    const name = fc.constantFrom('payload', 'delay', 'idempotencyKey', '__proto__', 'constructor', 'other');
    const object = fc
      .array(fc.tuple(name, any), { maxLength: 3 })
      // As JSON does: an own property, whatever its name.
      .map((members) => Object.fromEntries([['payload', payload], ...members]));
    const parsed = { ordinary: 0, other: 0 };
    fc.assert(
      fc.property(fc.oneof(object, any), (given) => {
        const { success, data } = ROUTE.body.safeParse(given);
        const isOrdinary = success && ignoredIn(ROUTE, { query: {}, body: given }) === null;
        expect(parse(given)).toEqual(isOrdinary ? data : null);
        parsed[isOrdinary ? 'ordinary' : 'other'] += 1;
      }),
      { numRuns: 3000 },
    );
    expect(Math.min(parsed.ordinary, parsed.other)).toBeGreaterThan(100);
  });

  it('has its members in the order of the schema, whatever their own', () => {
    const date = new Date(0);
    const job = { createdAt: date, status: 'pending', id: '0'.repeat(24) };
    expect(Object.entries(ordinary(ROUTE.responses[201])(job) ?? {})).toEqual(
      Object.entries(ROUTE.responses[201].parse(job)),
    );
  });
});

it('a member that is missing gets its default', () => {
  const schema = z.object({ text: z.string().default('none'), list: z.array(z.number()).optional() });
  for (const given of [{}, { text: 'a' }, { list: [1] }, []]) {
    expect(ordinary(schema)(given)).toEqual(Array.isArray(given) ? null : schema.parse(given));
  }
});
