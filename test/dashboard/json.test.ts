import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lexJson, positionOf, rangeOfPath } from '../../packages/dashboard/words/json/lex.ts';
import { exactLines, tidyLines } from '../../packages/dashboard/words/json/lines.ts';

const json = fc
  .tuple(fc.json(), fc.constantFrom(undefined, 1, '\t'))
  .map(([text, space]) => JSON.stringify(JSON.parse(text), null, space));
const joined = (lines: { pieces: { text: string }[] }[]) =>
  lines.map(({ pieces }) => pieces.map(({ text }) => text).join('')).join('\n');

describe('the lexer', () => {
  it('accepts what JSON.parse accepts, and nothing else', () => {
    const mutated = fc
      .tuple(json, fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '0', '\\', ':'))
      .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(fc.oneof(json, mutated, fc.string()), (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(lexJson(text).error === null).toBe(isJson);
      }),
      { numRuns: 2000 },
    );
  });

  it('loses nothing: tokens and the space between them are the text', () => {
    fc.assert(
      fc.property(json, (text) => {
        const { tokens } = lexJson(text);
        let at = 0;
        for (const { start, end } of tokens) {
          expect(text.slice(at, start)).toMatch(/^\s*$/);
          at = end;
        }
        expect(text.slice(at)).toMatch(/^\s*$/);
      }),
    );
  });

  it.each([
    ['{"a":9007199254740993}', 'big-number', '9007199254740993'],
    ['{"a":-9007199254740993}', 'big-number', '-9007199254740993'],
    ['{"a":1e400}', 'huge-number', '1e400'],
    ['{"a":1,"b":2,"a":3}', 'duplicate-key', '"a"'],
    ['{"a":1,"\\u0061":3}', 'duplicate-key', '"\\u0061"'],
    ['{"a":"\\ud800"}', 'lone-surrogate', '"\\ud800"'],
    ['{"\\udc00":1}', 'lone-surrogate', '"\\udc00"'],
    ['{"a":"\\u0000"}', 'null-character', '"\\u0000"'],
    ['{"a":"gpj.\u202etxt"}', 'turning', '"gpj.\u202etxt"'],
    ['{"a":"\\u2067"}', 'turning', '"\\u2067"'],
    ['{"\u061c":1}', 'turning', '"\u061c"'],
  ])('notes in %s: %s', (text, kind, source) => {
    const [note, ...others] = lexJson(text).notes;
    expect(others).toEqual([]);
    expect(note?.kind).toBe(kind);
    expect(text.slice(note?.start, note?.end)).toBe(source);
  });

  it('notes nothing that every reader keeps', () => {
    const text = '{"a":9007199254740991,"b":129.00,"c":"\\ud83d\\ude00","d":{"a":1},"e":[{"a":1},{"a":2}],"f":1.5e300}';
    expect(lexJson(text).notes).toEqual([]);
  });

  it.each([
    ['{"a":1', 6, 'The text ends, but a comma, or the end of the object or array must follow.'],
    ['{"a" 1}', 5, 'Expected a colon here.'],
    ['{a:1}', 1, 'Expected a key in quotes, or } here.'],
    ['{"a":01}', 6, 'Expected a comma, or the end of the object or array here.'],
    ['[1,]', 3, 'Expected a value here.'],
    ['{} x', 3, 'Expected the end of the text here.'],
    ['', 0, 'The text ends, but a value must follow.'],
    ['[1}', 2, 'Expected a comma, or the end of the object or array here.'],
  ])('says of %j where it is wrong', (text, at, message) => {
    expect(lexJson(text).error).toEqual({ at, message });
  });

  it('finds positions by line and column', () => {
    expect(positionOf('{\n  "a": x\n}', 9)).toEqual({ line: 2, column: 8 });
    expect(positionOf('x', 0)).toEqual({ line: 1, column: 1 });
  });

  it('finds the value at a path', () => {
    const text = '{"customer":{"id":42},"items":[{"sku":"A"},{"sku":"B"}],"a.b":1,"x":1,"x":2}';
    const at = (path: string) => {
      const found = rangeOfPath(lexJson(text), path);
      return found && text.slice(found.start, found.end);
    };
    expect(at('customer.id')).toBe('"id":42');
    expect(at('items.1.sku')).toBe('"sku":"B"');
    expect(at('items.*.sku')).toBe('"sku":"B"');
    expect(at('items.0')).toBe('{"sku":"A"}');
    expect(at('a\\.b')).toBe('"a.b":1');
    expect(at('x')).toBe('"x":2');
    expect(at('customer.name')).toBeNull();
  });
});

describe('lines', () => {
  it('the lines of the exact text are the text', () => {
    fc.assert(
      fc.property(fc.oneof(json, fc.string(), fc.stringMatching(/^[{}[\]",:\n \t0-9]{0,30}$/)), (text) => {
        expect(joined(exactLines(text, lexJson(text)))).toBe(text);
      }),
    );
  });

  it('the lines of the tidy text have every token as it was', () => {
    fc.assert(
      fc.property(json, (text) => {
        const lexed = lexJson(text);
        const source = lexed.tokens.map(({ start, end }) => text.slice(start, end));
        const shown = tidyLines(text, lexed).flatMap(({ pieces }) =>
          pieces.flatMap(({ kind, text: piece }) => (kind === null ? [] : [piece === ': ' ? ':' : piece])),
        );
        expect(shown).toEqual(source);
      }),
    );
  });

  it('the lines of the tidy text are indented', () => {
    const text = '{"a":{"b":[1,{}],"c":[]},"n":1e400}';
    expect(joined(tidyLines(text, lexJson(text)))).toBe(
      [
        '{',
        '  "a": {',
        '    "b": [',
        '      1,',
        '      {}',
        '    ],',
        '    "c": []',
        '  },',
        '  "n": 1e400',
        '}',
      ].join('\n'),
    );
  });
});
