import { expect, it } from 'vitest';
import { jsonErrorIn } from '../../src/domain/json-error.ts';

it.each([
  ['{"a":', 'it ends too early'],
  ['{"a":"b', 'it ends too early'],
  ['{"a":"\\u00e', 'at character 7'],
  ['', 'it ends too early'],
  ["{'a':1}", 'at character 2'],
  ['{a:1}', 'at character 2'],
  ['{"a":1,}', 'at character 8'],
  ['[1,]', 'at character 4'],
  ['{"a":1}}', 'at character 8'],
  ['{"a" 1}', 'at character 6'],
  ['{"a":1 "b":2}', 'at character 8'],
  ['[1}', 'at character 3'],
  ['{"a":NaN}', 'at character 6'],
  ['{"a":01}', 'at character 7'],
  ['{"a":1.}', 'at character 7'],
  ['{"a":"\t"}', 'at character 7'],
  ['{"a":"\\x"}', 'at character 7'],
  ['payload=1', 'at character 1'],
  ['{\n  "a": 1,\n  // no\n}', 'at line 3, character 3'],
  ['{"a":[{},[],"x\\n\\u00e9",-1.5e+3,true,false,null,{"b":"c"}],"d":tru}', 'at character 64'],
])('says where %j stops being JSON', (text, where) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(jsonErrorIn(text)).toBe(where);
});

it('takes a mebibyte of what could be JSON', () => {
  for (const part of ['\\n', '"a",'.repeat(4), '\n', '[],', '{"a":1},']) {
    const text = (part === '\\n' ? '"' : '[') + part.repeat(1_048_576 / part.length);
    expect(jsonErrorIn(`${text}`)).toBe('it ends too early');
  }
});
