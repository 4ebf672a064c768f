import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VerbatimJson, writeJson } from '../../src/contract/index.ts';

describe('writeJson', () => {
  it.each([
    '{}',
    '{ "a" : 1e400, "b":-0,\n"c":9007199254740993 }',
    '{"a":1,"a":2}',
    '{"a":"\\u0000\\ud800"}',
    '{"a":"$& $1 $$ $`"}',
  ])('writes source text as it is: %s', (text) => {
    expect(writeJson({ before: 1, payload: new VerbatimJson(text), after: 2 })).toBe(
      `{"before":1,"payload":${text},"after":2}`,
    );
  });

  it('writes what holds no source text as JSON.stringify does', () => {
    const value = { a: [1, null, 'x'], b: { c: '\u2028', d: undefined }, e: new Date(0) };
    expect(writeJson(value)).toBe(JSON.stringify(value));
  });

  it('is not led astray by a text that looks like its own placeholder', () => {
    const lookalike = `verbatim:${crypto.randomUUID()}`;
    const written = writeJson([lookalike, new VerbatimJson(`{"a":"${lookalike}"}`)]);
    expect(written).toBe(`["${lookalike}",{"a":"${lookalike}"}]`);
  });

  it('leaves nothing behind when a value cannot be written', () => {
    const failing = {
      toJSON: () => {
        throw new Error('no');
      },
    };
    expect(() => writeJson([new VerbatimJson('{}'), failing])).toThrow('no');
    expect(JSON.stringify(new VerbatimJson('{"a":1}'))).toBe('{"a":1}');
  });

  it('keeps every text, in order, between any other values', () => {
    const text = fc.json({ maxDepth: 3 }).map((source) => `{ "x": ${source} }`);
    fc.assert(
      fc.property(fc.array(fc.tuple(text, fc.jsonValue(), fc.string()), { maxLength: 20 }), (items) => {
        const written = writeJson(
          items.map(([source, other, key]) => ({ key, payload: new VerbatimJson(source), other })),
        );
        const expected = items.map(
          ([source, other, key]) =>
            `{"key":${JSON.stringify(key)},"payload":${source},"other":${JSON.stringify(other)}}`,
        );
        expect(written).toBe(`[${expected.join(',')}]`);
        expect(JSON.parse(written)).toEqual(
          items.map(([source, other, key]) => JSON.parse(JSON.stringify({ key, payload: JSON.parse(source), other }))),
        );
      }),
    );
  });
});
