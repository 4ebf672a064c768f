import { expect, it } from 'vitest';
import { buildEnvelope } from '../../src/delivery/envelope.ts';

const FIELDS = {
  id: '0123456789abcdef01234567',
  queue: 'mails-_9',
  payload: '{}',
  attempt: 2,
  maxAttempts: 25,
  createdAt: new Date('2030-01-02T03:04:05.678Z'),
};

it('has the fields of the spec, in its order', () => {
  expect(buildEnvelope({ ...FIELDS, payload: '{"a":1}' }).toString()).toBe(
    '{"id":"0123456789abcdef01234567","queue":"mails-_9","payload":{"a":1},' +
      '"attempt":2,"maxAttempts":25,"createdAt":"2030-01-02T03:04:05.678Z"}',
  );
});

it.each([
  ['numbers beyond a double', '{"n":9007199254740993,"m":1e400,"z":-0,"e":1E+2,"d":1.0}'],
  ['key order and duplicate keys', '{"b":1,"a":2,"b":3}'],
  ['white space', '{ "a" :\n\t[ 1 , 2 ] }'],
  ['escapes that text columns dislike', '{"nul":"\\u0000","lone":"\\ud800"}'],
  ['text outside ASCII', '{"ü":"日本 🛳","ls":"\u2028"}'],
  ['prototype keys', '{"__proto__":{"polluted":true}}'],
])('splices the payload in verbatim: %s', (_name, payload) => {
  const text = buildEnvelope({ ...FIELDS, payload }).toString('utf8');
  expect(text).toContain(`"payload":${payload},"attempt":2`);
  expect(() => JSON.parse(text)).not.toThrow();
});
