import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanJson } from '../../src/domain/json-source.ts';

const payloadsOf = (text: string) => {
  const scan = scanJson(text);
  return scan.ok ? scan.payloads : scan.reason;
};
const nested = (open: string, close: string, levels: number) => open.repeat(levels) + close.repeat(levels);

describe('scanJson', () => {
  it.each<[name: string, text: string, payloads: string[] | 'too deep']>([
    ['only member', '{"payload":{"a":1}}', ['{"a":1}']],
    ['first of several', '{"payload":{},"delay":1}', ['{}']],
    ['last of several', '{"delay":1,"payload":{}}', ['{}']],
    ['white space around, not inside', '\r\n{ "payload"\t:\n { "a" : 1 } \r, "b": 2 }', ['{ "a" : 1 }']],
    [
      'numbers that JavaScript cannot hold',
      '{"payload":{"a":1e400,"b":-0,"c":9007199254740993}}',
      ['{"a":1e400,"b":-0,"c":9007199254740993}'],
    ],
    ['duplicate keys inside', '{"payload":{"a":1,"a":2}}', ['{"a":1,"a":2}']],
    ['a payload inside the payload', '{"payload":{"payload":{"payload":1}}}', ['{"payload":{"payload":1}}']],
    ['a payload in another member', '{"x":{"payload":{"a":1}},"payload":{}}', ['{}']],
    ['a payload as a value', '{"x":"payload","payload":{}}', ['{}']],
    ['a payload in an array', '{"x":["payload",{"payload":1}],"payload":{}}', ['{}']],
    [
      'brackets and commas in strings',
      '{"a":"}],{[:","payload":{"b":"}],\\"payload\\":{"}}',
      ['{"b":"}],\\"payload\\":{"}'],
    ],
    ['backslashes before a quote', '{"a":"\\\\","payload":{"b":"\\\\\\""}}', ['{"b":"\\\\\\""}']],
    ['twice', '{"payload":{"a":1},"payload":{"b":2}}', ['{"a":1}', '{"b":2}']],
    ['twice, once escaped', '{"payload":{},"p\\u0061yload":{"b":2}}', ['{}', '{"b":2}']],
    ['every character escaped', '{"\\u0070\\u0061\\u0079\\u006C\\u006f\\u0061\\u0064":{}}', ['{}']],
    ['other keys that look alike', '{"payload ":1,"Payload":2,"payload\\u0000":3,"payloa\\u0065":4}', []],
    ['a wrong escape, left to JSON.parse', '{"p\\yload":1}', []],
    ['scalar payload', '{"payload": "text" }', ['"text"']],
    ['no payload', '{}', []],
    ['a top-level array', '[1,{"payload":{}}]', []],
    ['an unterminated string', '{"payload":"', []],
    ['only backslashes', `{"payload":"${'\\'.repeat(1e5)}`, []],
    ['nothing', '', []],
  ])('finds the payload: %s', (_name, text, payloads) => {
    expect(payloadsOf(text)).toEqual(payloads);
  });

  it.each<[name: string, payload: string, ok: boolean]>([
    ['100 objects', `${'{"a":'.repeat(99)}{}${'}'.repeat(99)}`, true],
    ['101 objects', `${'{"a":'.repeat(100)}{}${'}'.repeat(100)}`, false],
    ['99 arrays in an object', `{"a":${nested('[', ']', 99)}}`, true],
    ['100 arrays in an object', `{"a":${nested('[', ']', 100)}}`, false],
    ['100 000 open arrays', `{"a":${'['.repeat(1e5)}`, false],
    ['30 000 open objects', '{"a":'.repeat(3e4), false],
    ['brackets in a string', `{"a":"${'['.repeat(1e5)}"}`, true],
    ['many in a row', `{"a":[${'[],'.repeat(1000)}[]]}`, true],
  ])('allows a payload of 100 levels: %s', (_name, payload, ok) => {
    expect(scanJson(`{"payload":${payload}}`).ok).toBe(ok);
  });

  it('finds exactly the text that was put in', () => {
    fc.assert(
      fc.property(
        jsonObjectSource,
        jsonMembers,
        jsonMembers,
        blanks,
        payloadKey,
        (source, before, after, blank, key) => {
          const member = `${blank}${key}${blank}:${blank}${source}${blank}`;
          const text = `${blank}{${[...before, member, ...after].join(',')}}${blank}`;
          expect(() => JSON.parse(text)).not.toThrow();
          expect(payloadsOf(text)).toEqual([source]);
        },
      ),
      { numRuns: 500 },
    );
  });
});

const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });

/** A string's source text with some of its characters escaped without need. */
const stringSource = fc
  .array(fc.tuple(fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), fc.boolean()), { maxLength: 8 })
  .map(
    (characters) =>
      `"${characters.map(([character, asEscape]) => (asEscape ? escaped(character) : plain(character))).join('')}"`,
  );

const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
const plain = (text: string) => JSON.stringify(text).slice(1, -1);

const payloadKey = fc
  .array(fc.boolean(), { minLength: 7, maxLength: 7 })
  .map((flags) => `"${[...'payload'].map((letter, at) => (flags[at] ? escaped(letter) : letter)).join('')}"`);

/** Source text with random white space, numbers that do not survive a parse, and repeated keys. */
const { source: jsonSource, object: jsonObjectSource } = fc.letrec<{ source: string; object: string; array: string }>(
  (tie) => ({
    source: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('null', 'true', 'false', '0', '-0', '1e400', '1E+2', '12345678901234567890', '1.0'),
      stringSource,
      tie('object'),
      tie('array'),
    ),
    object: fc
      .tuple(fc.array(fc.tuple(stringSource, blanks, tie('source')), { maxLength: 4 }), blanks)
      .map(([members, blank]) => `{${blank}${members.map(([k, b, v]) => `${b}${k}${b}:${b}${v}${b}`).join(',')}}`),
    array: fc
      .tuple(fc.array(tie('source'), { maxLength: 4 }), blanks)
      .map(([items, blank]) => `[${blank}${items.map((item) => `${blank}${item}${blank}`).join(',')}]`),
  }),
);

/** Members that are not the payload, although their values may look like one. */
const jsonMembers = fc.array(
  fc
    .tuple(stringSource, jsonSource)
    .filter(([key]) => JSON.parse(key) !== 'payload')
    .map(([key, value]) => `${key}:${value}`),
  { maxLength: 3 },
);
