import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KEY } from '../support/fake-services.ts';
import { FUZZ_TIMEOUT_MS, number, text, value } from '../support/fuzz.ts';
import { fuzzBothWays, KEYS, QUEUES } from '../support/two-ways.ts';

/**
 * Publishes of all kinds get the same answer on the short way as on the full one,
 * and leave the same behind (decision 43).
 */

const often = <Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 15, arbitrary: usual }, { weight: 1, arbitrary: odd });

const json = (one: unknown) => JSON.stringify(one);
const space = fc.constantFrom('', '', ' ', '\n\t ');
const object = fc.array(fc.tuple(text, value), { maxLength: 4 }).map((members) => {
  const sources = members.map(([name, member]) => `${json(name)}: ${member}`);
  return `{${sources.join(',')}}`;
});
const member = fc.oneof(
  object.map((payload) => `"payload":${payload}`),
  fc.constantFrom('"delay":0', '"delay":0.5', '"delay":86400', '"delay":86401', '"delay":-1', '"delay":null'),
  number.map((delay) => `"delay" : ${delay}`),
  fc
    .constantFrom('k', 'k'.repeat(255), 'k'.repeat(256), '', '\0', '\ud800', 'é')
    .map((key) => `"idempotencyKey":${json(key)}`),
  fc
    .tuple(fc.constantFrom('payload', 'delay', 'idempotencyKey', 'scheduledFor', 'Payload', '__proto__', 'a'), value)
    .map(([name, any]) => `${json(name)}:${any}`),
  fc.constantFrom('"p\\u0061yload":{}', '"payload":{}', '"constructor":{"prototype":{}}', '"d\\u0065lay":3'),
);
// In any order, and with white space.
const ordinaryBody = fc
  .record({
    payload: object,
    delay: fc.option(fc.double({ min: 0, max: 86_400, noNaN: true }), { nil: undefined }),
    key: fc.option(fc.string({ minLength: 1, maxLength: 40 }), { nil: undefined }),
    isReversed: fc.boolean(),
    space,
  })
  .map(({ payload, delay, key, isReversed, space: gap }) => {
    const members = [
      `"payload"${gap}:${gap}${payload}`,
      ...(delay === undefined ? [] : [`"delay":${gap}${json(delay)}`]),
      ...(key === undefined ? [] : [`"idempotencyKey":${json(key)}`]),
    ];
    return Buffer.from(`${gap}{${(isReversed ? members.reverse() : members).join(`${gap},`)}${gap}}`).toString(
      'latin1',
    );
  });
const oddBody = fc.oneof(
  fc.array(member, { maxLength: 4 }).map((members) => Buffer.from(`{${members.join(',')}}`).toString('latin1')),
  value.map((any) => Buffer.from(any).toString('latin1')),
  fc.constantFrom(
    '',
    ' ',
    '{',
    '{"payload":{}',
    '{"payload":{}}x',
    '\xef\xbb\xbf{"payload":{}}',
    '{"payload":{"a":"\xff"}}',
    "{'a':1}",
  ),
  fc.constantFrom(
    ...[99, 100, 101, 5000].map((depth) => `{"payload":${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}}`),
    `{"payload":{"a":"${'x'.repeat(4000)}"}}`,
    `{"payload":{"a":"${'x'.repeat(5000)}"}}`,
  ),
);

const body = fc.oneof(ordinaryBody, oddBody);

const names = Object.keys(QUEUES);
const path = often(
  fc
    .constantFrom(...Array(10).fill('mails'), ...names, '-', '9', 'a'.repeat(64))
    .map((name) => `/v1/queues/${name}/jobs`),
  fc.constantFrom(
    ...[
      '/v1/queues/mails/jobs/',
      '/v1/queues/mails/jobs?',
      '/v1/queues/mails/jobs?a=1&delay=2',
      '/V1/queues/mails/jobs',
    ],
    ...[
      '/v1/queues//jobs',
      '/v1//queues/mails/jobs',
      '/v1/queues/m%61ils/jobs',
      '/v1/queues/%ff/jobs',
      '/v1/queues/%2f/jobs',
    ],
    ...[
      '/v1/queues/UPPER/jobs',
      '/v1/queues/a.b/jobs',
      '/v1/queues/mails/jobs#x',
      'http://x/v1/queues/mails/jobs',
      '*',
    ],
    ...['/base/v1/queues/mails/jobs', '/base/v1/queues/missing/jobs', '/v1/queues/a/b/jobs', '/v1/queues/mails;x/jobs'],
    ...[
      `/v1/queues/${'a'.repeat(65)}/jobs`,
      '/v1/queues/jobs',
      '/v1/queues/mails/Jobs',
      '/v1/queues/../queues/mails/jobs',
    ],
  ),
);
const authorization = often(
  fc.constantFrom(...Array(10).fill(KEY), ...Object.keys(KEYS)).map((key) => `Authorization: Bearer ${key}`),
  fc.constantFrom(
    ...['', 'Authorization: bearer publisher', 'Authorization: Bearer wrong', 'Authorization: Bearer lost'],
    ...['Authorization: Basic publisher', 'Authorization: Bearer  publisher', 'Authorization: Bearer toString'],
  ),
);
const type = often(
  fc.constant('Content-Type: application/json'),
  fc.constantFrom(
    ...[
      '',
      'Content-Type: application/json; charset=utf-8',
      'Content-Type: APPLICATION/JSON',
      'Content-Type: text/plain',
    ],
    ...[
      'Content-Type: application/json; charset=latin1',
      'Content-Type:',
      'Content-Type: application/json\r\nContent-Type: text/plain',
    ],
  ),
);
const others = fc.subarray(
  [
    ...['Expect: 100-continue', 'Content-Encoding: gzip', 'Content-Encoding: identity', 'Origin: https://one.example'],
    ...[
      'Origin: https://other.example',
      'Connection: close',
      'Connection: keep-alive',
      'X-Request-Id: mine',
      'X-Request-Id: ü',
    ],
    ...[
      'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      'tracestate: a=b,c=d',
      'traceparent: x',
    ],
    ...['X-Padding: 1', 'Cookie: a=b', 'Upgrade: h2c', 'jobferry-read-from: primary', 'Accept: text/html'],
  ],
  { maxLength: 3 },
);
const request = fc
  .record({
    method: often(fc.constant('POST'), fc.constantFrom('PUT', 'GET', 'DELETE', 'OPTIONS', 'PATCH', 'HEAD')),
    version: fc.constantFrom('1.1', '1.1', '1.1', '1.0'),
    path,
    authorization,
    type,
    others,
    body,
    isChunked: often(fc.constant(false), fc.boolean()),
  })
  // Node's parser does not tell the client where the answer of a HEAD ends.
  .filter(({ method, version, isChunked }) => method !== 'HEAD' && !(isChunked && version === '1.0'))
  .map(({ method, version, path: to, authorization: key, type: kind, others: more, body: sent, isChunked }) => {
    const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${sent.length}`;
    const chunks = sent === '' ? '0\r\n\r\n' : `${sent.length.toString(16)}\r\n${sent}\r\n0\r\n\r\n`;
    const head = [`${method} ${to} HTTP/${version}`, 'Host: x', key, kind, ...more, length].filter(
      (line) => line !== '',
    );
    return `${head.join('\r\n')}\r\n\r\n${isChunked ? chunks : sent}`;
  });

it('a publish is the same on both ways', { timeout: FUZZ_TIMEOUT_MS }, async () => {
  const kinds = [
    '200 short',
    '201 short',
    '201 full',
    ...['400', '401', '402', '403', '404', '413', '415', '429', '500', '503'].map((code) => `${code} full`),
  ];
  const statuses = await fuzzBothWays(request, kinds);
  // Refusals are given by the full way only.
  expect([...statuses.keys()].filter((kind) => kind.endsWith('short')).sort()).toEqual(['200 short', '201 short']);
  const all = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  // About a fifth of the generated requests; among 150 of them it can be a tenth.
  const taken = (statuses.get('200 short') ?? 0) + (statuses.get('201 short') ?? 0);
  expect(taken / all, JSON.stringify([...statuses])).toBeGreaterThan(0.08);
});
