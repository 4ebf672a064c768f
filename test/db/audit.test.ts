import { describe, expect, it } from 'vitest';
import { jsonbText } from '../../src/db/audit.ts';

describe('JSON for the audit log', () => {
  it.each([
    [null, null],
    [{ a: 'plain \u{1f511}' }, '{"a":"plain \u{1f511}"}'],
    [{ a: ['\0', { b: 'x\ud800y' }] }, '{"a":["\ufffd",{"b":"x\ufffdy"}]}'],
  ])('the audit log can store %j as JSON', (value, expected) => {
    expect(jsonbText(value)).toBe(expected);
  });
});
