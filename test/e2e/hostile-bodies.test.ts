import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { KEY, startVictim } from '../support/hostile.ts';
import { formRefusal, refusal } from '../support/shapes.ts';

/**
 * H1 to H24 of the hostile inputs (docs/invariants.md) against a whole service, by the route that stores what it gets.
 * test/http/body.test.ts sends them to every route.
 */

const LIMIT = 65_536;
const victim = startVictim({ MAX_BODY_BYTES: String(LIMIT) });

const GOOD = '{"payload":{},"delay":86400}';
const publish = (body?: string | Uint8Array, headers?: Record<string, string | null>) =>
  victim.send('POST', `/v1/queues/${victim.queue.name}/jobs`, body, headers);

const inString = (...bytes: number[]) => Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);

const MALFORMED: [name: string, body: string | Buffer][] = [
  ['H1 empty', ''],
  ['H2 cut off', '{"a":'],
  ['H3 trailing junk', `${GOOD}x`],
  ['H4 single quotes', "{'a':1}"],
  ['H5 comments', `// hello\n${GOOD}`],
  ['H6 NaN', '{"retryAfter":NaN,"payload":{}}'],
  ['H7 a raw NUL in a string', '{"a":"\0"}'],
  ['H8 an array', '[]'],
  ['H9 a string', '"text"'],
  ['H10 null', 'null'],
  ['H11 a number', '1'],
  ['H20 the byte ff', inString(0xff)],
  ['H20 an overlong form', inString(0xc0, 0xaf)],
  ['H20 an encoded surrogate', inString(0xed, 0xa0, 0x80)],
  ['H21 a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(GOOD)])],
  ['H23 30 000 arrays', `{"payload":${'['.repeat(3e4)}${']'.repeat(3e4)}}`],
  ['H24 9000 objects', `{"payload":${'{"a":'.repeat(9e3)}1${'}'.repeat(9e3)}}`],
  ['60 000 open brackets', '['.repeat(6e4)],
];

const UNSUPPORTED: [name: string, headers: Record<string, string>][] = [
  ['H12 text', { 'content-type': 'text/plain' }],
  ['H14 a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['H14 multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
  ['H15 UTF-16', { 'content-type': 'application/json; charset=utf-16' }],
  ['H16 an unknown charset', { 'content-type': 'application/json; charset=klingon' }],
  ['H17 an unknown encoding', { 'content-encoding': 'x' }],
  ['H18 corrupt gzip', { 'content-encoding': 'gzip' }],
];

/** 50 MB of nothing in 49 kB. */
const GZIP_BOMB = gzipSync(Buffer.alloc(50 << 20));

describe('a publish', () => {
  it.each(MALFORMED)('400: %s', async (_name, body) => {
    expect(await publish(body)).toMatchObject({ status: 400, body: formRefusal });
  });

  it('H1 400: no body', async () => {
    expect(await publish()).toMatchObject({ status: 400, body: formRefusal });
  });

  it.each(UNSUPPORTED)('415: %s', async (_name, headers) => {
    expect(await publish(GOOD, headers)).toMatchObject({ status: 415, body: refusal });
  });

  it('H13 taken without a content type', async () => {
    expect((await publish(GOOD, { 'content-type': null })).status).toBe(201);
  });

  it('H19 a gzip bomb is not inflated', async () => {
    expect(await publish(GZIP_BOMB, { 'content-encoding': 'gzip' })).toMatchObject({ status: 415, body: refusal });
  });

  it('H22 413 above the limit, taken at the limit', async () => {
    const fitting = GOOD.padEnd(LIMIT);
    expect((await publish(fitting)).status).toBe(201);
    expect(await publish(`${fitting} `)).toMatchObject({ status: 413, body: refusal });
    expect(await publish('x'.repeat(20 * LIMIT))).toMatchObject({ status: 413, body: refusal });
  });

  it('H22 413 for chunks without a length, at the limit and not at their end', async () => {
    const head = `POST /v1/queues/victim/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`;
    const chunk = `1000\r\n${' '.repeat(0x1000)}\r\n`;
    const { socket } = victim.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`);
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.destroy();
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
  });
});
