import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KEY } from '../support/fake-services.ts';
import { FUZZ_TIMEOUT_MS, value } from '../support/fuzz.ts';
import { fuzzBothWays, KEYS } from '../support/two-ways.ts';

/**
 * Acks of all kinds get the same answer on the short way as on the full one, and leave the same behind (decision 46).
 */

const often = <Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });

const ID = 'a'.repeat(23);
const path = often(
  fc.constantFrom(...'00000123456789').map((digit) => `/v1/jobs/${ID}${digit}/ack`),
  fc.constantFrom(
    ...[`/v1/jobs/${ID}0/ack/`, `/v1/jobs/${ID}0/ack?`, `/v1/jobs/${ID}0/ack?attempt=2`, `/V1/jobs/${ID}0/ack`],
    ...[`/v1/jobs/${ID}0/nack`, `/v1/jobs/${ID}/ack`, `/v1/jobs/${ID}00/ack`, `/v1/jobs/${ID}A/ack`, '/v1/jobs//ack'],
    ...[
      `/v1/jobs/%61${ID}/ack`,
      `/v1/jobs/${ID}0/Ack`,
      `/base/v1/jobs/${ID}0/ack`,
      `/v1//jobs/${ID}0/ack`,
      '/v1/jobs/ack',
    ],
  ),
);
const body = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('', '', '', '{}', '{"attempt":1}', '{ "attempt" : 2 }\n', '{"attempt":1e300}'),
  },
  fc.constantFrom(
    '{"attempt":0}',
    '{"attempt":1.5}',
    '{"attempt":"1"}',
    '{"attempt":null}',
    '{"attempt":1,"a":2}',
    '{',
    '[]',
  ),
  fc.constantFrom('null', '1', '"\\ud800"', '\xff', '{"__proto__":{"attempt":1}}', `{"a":"${'x'.repeat(5000)}"}`),
  value.map((any) => Buffer.from(`{"attempt":${any}}`).toString('latin1')),
);
const key = often(
  fc.constantFrom(...Array(10).fill(KEY), ...Object.keys(KEYS)),
  fc.constantFrom('wrong', 'lost', 'toString'),
).map((one) => `Authorization: Bearer ${one}`);
const others = fc.subarray(
  [
    ...['Content-Type: application/json', 'Content-Type: text/plain', 'Content-Encoding: gzip', 'Expect: 100-continue'],
    ...['Origin: https://one.example', 'Connection: close', 'X-Request-Id: mine', 'Cookie: a=b', 'traceparent: x'],
    'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  ],
  { maxLength: 3 },
);
const request = fc
  .record({
    method: often(fc.constant('POST'), fc.constantFrom('PUT', 'GET', 'DELETE', 'OPTIONS')),
    version: often(fc.constant('1.1'), fc.constant('1.0')),
    length: fc.constantFrom('given', 'given', 'given', 'chunked', 'none'),
    path,
    body,
    key,
    others,
  })
  .map(({ method, version, length, path: to, body: sent, key: who, others: more }) => {
    const isChunked = length === 'chunked' && version === '1.1';
    const isBare = length === 'none' && sent === '';
    const framing = isChunked ? ['Transfer-Encoding: chunked'] : isBare ? [] : [`Content-Length: ${sent.length}`];
    const chunks = sent === '' ? '0\r\n\r\n' : `${sent.length.toString(16)}\r\n${sent}\r\n0\r\n\r\n`;
    const head = [`${method} ${to} HTTP/${version}`, 'Host: x', who, ...more, ...framing];
    return `${head.join('\r\n')}\r\n\r\n${isChunked ? chunks : sent}`;
  });

it('an ack is the same on both ways', { timeout: FUZZ_TIMEOUT_MS }, async () => {
  const kinds = [
    '200 short',
    ...['200', '400', '401', '403', '404', '413', '429', '500', '503'].map((code) => `${code} full`),
  ];
  const seenKinds = await fuzzBothWays(request, kinds);
  // Refusals are given by the full way only.
  expect([...seenKinds.keys()].filter((kind) => kind.endsWith('short'))).toEqual(['200 short']);
  const all = [...seenKinds.values()].reduce((sum, count) => sum + count, 0);
  expect((seenKinds.get('200 short') ?? 0) / all, JSON.stringify([...seenKinds])).toBeGreaterThan(0.1);
});
