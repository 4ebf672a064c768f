import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { startVictim } from '../support/hostile.ts';
import { formRefusal, refusal, UNKNOWN_ID } from '../support/shapes.ts';

/** H1 to H24 of the hostile inputs (docs/invariants.md) on every route that takes a body. */

const LIMIT = 65_536;
const victim = startVictim({ MAX_BODY_BYTES: String(LIMIT) });

interface Route {
  method: string;
  path: () => string;
  /** A body that it takes, without changing anything that a second call needs. */
  good: () => string;
  /** Shape of its 400 (D22). */
  bad: object;
}

let names = 0;
const ROUTES: Record<string, Route> = {
  publish: {
    ...{ method: 'POST', path: () => `/v1/queues/${victim.queue.name}/jobs`, bad: formRefusal },
    good: () => '{"payload":{},"delay":86400}',
  },
  create: {
    ...{ method: 'POST', path: () => '/v1/queues', bad: formRefusal },
    good: () => `{"name":"made-${++names}","webhookUrl":"http://127.0.0.1:9/","concurrency":1}`,
  },
  update: {
    ...{ method: 'PUT', path: () => `/v1/queues/${victim.queue.id}`, bad: formRefusal },
    good: () => '{"backoffDelay":0}',
  },
  nack: {
    ...{ method: 'POST', path: () => `/v1/jobs/${victim.jobId}/nack`, bad: refusal },
    good: () => '{"retryable":true}',
  },
  defer: {
    ...{ method: 'POST', path: () => `/v1/jobs/${victim.jobId}/defer`, bad: refusal },
    good: () => '{"retryAfter":0,"scope":"job"}',
  },
  'bulk replay': {
    ...{ method: 'POST', path: () => `/v1/queues/${victim.queue.id}/dlq/replay`, bad: refusal },
    good: () => `{"jobIds":["${UNKNOWN_ID}"]}`,
  },
};

/** After a good body nack and defer have to find the job waiting again. */
async function ready(): Promise<void> {
  await victim.api.waitForStatus(victim.jobId, 'awaiting_ack');
}

const inString = (...bytes: number[]) => Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);

const MALFORMED: [name: string, body: (good: string) => string | Buffer][] = [
  ['H2 cut off', () => '{"a":'],
  ['H3 trailing junk', (good) => `${good}x`],
  ['H4 single quotes', () => "{'a':1}"],
  ['H5 comments', (good) => `// hello\n${good}`],
  ['H6 NaN', () => '{"retryAfter":NaN,"payload":{}}'],
  ['H7 a raw NUL in a string', () => '{"a":"\0"}'],
  ['H8 an array', () => '[]'],
  ['H9 a string', () => '"text"'],
  ['H10 null', () => 'null'],
  ['H11 a number', () => '1'],
  ['H20 the byte ff', () => inString(0xff)],
  ['H20 an overlong form', () => inString(0xc0, 0xaf)],
  ['H20 an encoded surrogate', () => inString(0xed, 0xa0, 0x80)],
  ['H21 a byte order mark', (good) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(good)])],
  ['H23 30 000 arrays', () => `{"payload":${'['.repeat(3e4)}${']'.repeat(3e4)}}`],
  ['H24 9000 objects', () => `{"payload":${'{"a":'.repeat(9e3)}1${'}'.repeat(9e3)}}`],
  ['60 000 open brackets', () => '['.repeat(6e4)],
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

describe.each(Object.entries(ROUTES))('%s', (_name, { method, path, good, bad }) => {
  it.each(MALFORMED)('400: %s', async (_name, body) => {
    expect(await victim.send(method, path(), body(good()))).toMatchObject({ status: 400, body: bad });
  });

  it.each(UNSUPPORTED)('415: %s', async (_name, headers) => {
    const answer = await victim.send(method, path(), good(), headers);
    expect(answer).toMatchObject({ status: 415, body: refusal });
  });

  it('H13 taken without a content type', async () => {
    await ready();
    const answer = await victim.send(method, path(), good(), { 'content-type': null });
    expect(answer.status, answer.text).toBeLessThan(300);
    await ready();
  });

  it('H19 a gzip bomb is not inflated', async () => {
    const answer = await victim.send(method, path(), GZIP_BOMB, { 'content-encoding': 'gzip' });
    expect(answer).toMatchObject({ status: 415, body: refusal });
  });

  it('H22 413 above the limit, taken at the limit', async () => {
    const fitting = good().padEnd(LIMIT);
    await ready();
    const answer = await victim.send(method, path(), fitting);
    expect(answer.status, answer.text).toBeLessThan(300);
    await ready();
    expect(await victim.send(method, path(), `${fitting} `)).toMatchObject({ status: 413, body: refusal });
    expect(await victim.send(method, path(), 'x'.repeat(20 * LIMIT))).toMatchObject({ status: 413, body: refusal });
  });

  it('H22 413 for chunks without a length, at the limit and not at their end', async () => {
    const head = `${method} ${path()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer key-of-the-bootstrap-account\r\n`;
    const chunk = `1000\r\n${' '.repeat(0x1000)}\r\n`;
    const { socket } = victim.raw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`);
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.destroy();
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('H1 no body', () => {
  const { nack, ...others } = ROUTES;

  it.each(Object.entries(others))('400: %s', async (_name, { method, path, bad }) => {
    expect(await victim.send(method, path())).toMatchObject({ status: 400, body: bad });
    expect(await victim.send(method, path(), '')).toMatchObject({ status: 400, body: bad });
  });

  it('is as good as an empty one where every member is optional: nack', async () => {
    await ready();
    expect((await victim.send('POST', nack?.path() ?? '')).status).toBe(200);
    await ready();
  });
});

describe('routes without a body', () => {
  it('ignore one, and take it no further than the limit', async () => {
    await ready();
    const ack = `/v1/jobs/${UNKNOWN_ID}/ack`;
    expect((await victim.send('POST', ack, '{"a":', { 'content-type': 'text/plain' })).status).toBe(404);
    const replay = `/v1/queues/${victim.queue.id}/dlq/${UNKNOWN_ID}/replay`;
    expect(await victim.send('POST', replay, 'x'.repeat(2 * LIMIT))).toMatchObject({ status: 413, body: refusal });
  });
});
