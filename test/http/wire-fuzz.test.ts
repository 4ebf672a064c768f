import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { KEY } from '../support/fake-services.ts';
import { FUZZ_TIMEOUT_MS, fuzz } from '../support/fuzz.ts';

/**
 * Requests that were damaged on their way (I-39): what Node's parser answers by itself has to be
 * JSON too. Many wait for a rest that never comes, so the limits of time are short, and many are open at once.
 */

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
const GOOD = [
  `GET /v1/queues?page=1 HTTP/1.1\r\n${HEAD}\r\n`,
  `POST /v1/queues/mails/jobs HTTP/1.1\r\n${HEAD}Content-Length: 14\r\n\r\n{"payload":{}}`,
  `POST /v1/queues/mails/jobs HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n7\r\n{"paylo\r\n7\r\nad":{}}\r\n0\r\n\r\n`,
  `POST /v1/queues/mails/jobs HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  `DELETE /v1/nothing HTTP/1.0\r\n${HEAD}\r\n`,
  `OPTIONS * HTTP/1.1\r\n${HEAD}\r\n`,
  `GET /v1/queues HTTP/1.1\r\n${HEAD}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
];
/** Pieces that a parser looks at twice. */
const PIECES = [
  ...[
    '\0',
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    ' ',
    '\t',
    ':',
    '%',
    '\xff',
    '\x80',
    '-1',
    '99999999999999999999',
    'HTTP/2.0',
  ],
  ...['Content-Length: 5\r\n', 'Transfer-Encoding: gzip\r\n', 'Expect: x\r\n', `X: ${'x'.repeat(20_000)}\r\n`, 'G'],
  ...['Host: y\r\n', '0\r\n\r\n', ';'.repeat(20_000), '{', '"', '\u00e9'],
];

/** Puts a piece somewhere, and cuts a few characters there. */
const damage = fc.record({ at: fc.nat(), cut: fc.nat({ max: 3 }), piece: fc.constantFrom('', ...PIECES) });
const request = fc
  .tuple(fc.constantFrom(...GOOD), fc.array(damage, { minLength: 1, maxLength: 4 }))
  .map(([good, damages]) =>
    damages.reduce((text, { at, cut, piece }) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + piece + text.slice(start + cut);
    }, good),
  );

/** Head and body of every answer but "go on" that came over a connection. */
function* answersIn(received: string): Generator<{ status: number; head: string; body: string }> {
  let rest = received;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    expect(end, received).toBeGreaterThan(0);
    const head = rest.slice(0, end);
    expect(head, received).toMatch(/^HTTP\/1\.1 \d{3} /);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    rest = rest.slice(end + 4 + length);
    if (!head.startsWith('HTTP/1.1 100 ')) yield { status: Number(head.slice(9, 12)), head, body };
  }
}

/** Answers that damaged requests get. */
const KINDS = [200, 400, 401, 404, 408, 431];

describe('damaged requests', () => {
  it('are answered in JSON, below 500, and the connection ends', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const api = await testApi({ timeouts: { headers: 300, request: 600, check: 100, keepAlive: 200 } });
    const statuses = new Map<number, number>();
    const check = async (text: string) => {
      for (const { status, head, body } of answersIn(await api.raw(text).received)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect(status, `${head}\n${body}`).toBeLessThan(500);
        if (status < 400) continue;
        expect(head.toLowerCase()).toContain('content-type: application/json');
        expect(JSON.parse(body)).toEqual({ error: expect.anything() });
      }
    };
    await fuzz(request, check, { inFlight: 200, until: () => KINDS.every((status) => statuses.has(status)) });
    expect(api.logged).toEqual([]);
    // It saw more than one kind of answer.
    for (const status of KINDS) expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
    expect((await api.send('GET', '/healthz')).status).toBe(200);
  });
});
