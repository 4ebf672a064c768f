import { expect, it } from 'vitest';
import { payloadProbe, payloadTest, Values } from '../../src/db/search/payload-conditions.ts';

/** Found by the fuzz of mutations: it was "()", which is no SQL. */
it.each([
  ['and', 'true'],
  ['or', 'false'],
] as const)('an empty list of conditions makes "%s" %s', (kind, expected) => {
  const nothing = { kind, of: [] };
  expect(payloadTest(nothing, 'document', new Values())).toBe(expected);
  expect(payloadTest({ kind: 'not', of: nothing }, 'document', new Values())).toBe(`(not ${expected})`);
  expect(payloadProbe(nothing, 'documents', 'queue_id', new Values())).toBe(kind === 'and' ? null : 'false');
});
