import { describe, expect, it } from 'vitest';
import { KEY, lastAnswer, startVictim } from '../support/hostile.ts';
import { refusal } from '../support/shapes.ts';

/** H28 to H55 of the hostile inputs (docs/invariants.md): what is wrong before any body. H36 is in fuzz. */

const victim = startVictim();

const AUTHORIZED = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
const LIST = `GET /v1/queues HTTP/1.1\r\n${AUTHORIZED}`;
const CLOSE = 'Connection: close\r\n';

describe.concurrent('the wire', () => {
  it.each<[name: string, text: string, status: number]>([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['TLS on the plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['HTTP/2 out of the blue', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['H28 two lengths', `${LIST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['H29 a length and chunks', `${LIST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['H30 bare line feeds', LIST.replaceAll('\r\n', '\n').concat('\n'), 400],
    ['H31 NUL in a header', `${LIST}X: a\0b\r\n\r\n`, 400],
    ['H32 an unknown method', `BREW /v1/queues HTTP/1.1\r\n${AUTHORIZED}\r\n`, 400],
    ['H33 a header of 20 kB', `${LIST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['H34 a path of 17 kB', `GET /v1/jobs/${'f'.repeat(17_000)} HTTP/1.1\r\n${AUTHORIZED}\r\n`, 431],
    ['H35 an unknown expectation', `${LIST}Expect: foo\r\n${CLOSE}\r\n`, 417],
    ['no host', 'GET /v1/queues HTTP/1.1\r\n\r\n', 400],
    ['two hosts', `${LIST}host: y\r\n${CLOSE}\r\n`, 400],
    ['a tunnel', `CONNECT 127.0.0.1:80 HTTP/1.1\r\n${AUTHORIZED}\r\n`, 404],
    ['an absolute address', `GET http://127.0.0.1/v1/nothing HTTP/1.1\r\n${AUTHORIZED}${CLOSE}\r\n`, 404],
    ['a path of dots', `GET /v1/../../etc/passwd HTTP/1.1\r\n${AUTHORIZED}${CLOSE}\r\n`, 404],
    ['H87 a broken escape in a path', `GET /v1/jobs/%zz HTTP/1.1\r\n${AUTHORIZED}${CLOSE}\r\n`, 400],
    ['a method that the path has not', `PATCH /v1/queues HTTP/1.1\r\n${AUTHORIZED}${CLOSE}\r\n`, 404],
  ])('%s is answered in JSON', async (_name, text, status) => {
    const answer = lastAnswer(await victim.raw(text).received);
    expect(answer).toEqual({ status, body: refusal });
  });

  it('H38 serves others while 500 connections are silent', async () => {
    const idle = Array.from({ length: 500 }, () => victim.raw('GET /v1/queues HTTP/1.1\r\n'));
    await Promise.all(
      idle.map(({ socket }) => new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))),
    );
    expect((await victim.send('GET', '/v1/queues')).status).toBe(200);
    for (const { socket } of idle) socket.destroy();
  });

  it('H39 answers 1000 pipelined requests in order', async () => {
    const path = (n: number) => (n % 2 === 0 ? '/v1/queues' : `/v1/nothing-${n}`);
    const requests = Array.from({ length: 1000 }, (_, n) => {
      const last = n === 999 ? CLOSE : '';
      return `GET ${path(n)} HTTP/1.1\r\n${AUTHORIZED}${last}\r\n`;
    });
    const received = await victim.raw(requests.join('')).received;
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
    expect(statuses).toContain(200);
    // A busy machine refuses some of 500 reads of one account at once.
    expect(statuses.map((status) => (status === 503 ? 200 : status))).toEqual(
      requests.map((_, n) => (n % 2 === 0 ? 200 : 404)),
    );
  });
});

describe.concurrent('authorization', () => {
  const denied = { status: 401, body: refusal };

  it.each<[name: string, authorization: string | null]>([
    ['H41 none', null],
    ['H42 Basic', `Basic ${Buffer.from(`${KEY}:`).toString('base64')}`],
    ['H43 nothing but Bearer', 'Bearer'],
    ['H43 nothing after Bearer', 'Bearer '],
    ['H44 a wrong prefix', `xx_${'0'.repeat(46)}`],
    ['H45 a wrong checksum', `Bearer jf_${'0'.repeat(46)}`],
    ['H46 an unknown key', 'Bearer some-key-of-no-account'],
    ['H48 8 kB', `Bearer ${'k'.repeat(8192)}`],
    ['H49 not ASCII', 'Bearer kl\u00e9-der-nicht-geht'],
    ['a key and more', `Bearer ${KEY} ${KEY}`],
    ['a list', `Bearer ${KEY}, Bearer ${KEY}`],
    ['two spaces', `Bearer  ${KEY}`],
    ['SQL', "Bearer '||(select+1)||'----"],
  ])('401 for %s, before the body is looked at', async (_name, authorization) => {
    const answer = await victim.send('POST', '/v1/queues', '{"a":', { authorization });
    expect(answer).toMatchObject(denied);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('H50 401 for a key in the query', async () => {
    for (const name of ['key', 'api_key', 'access_token', 'authorization']) {
      const answer = await victim.send('GET', `/v1/queues?${name}=${KEY}`, undefined, { authorization: null });
      expect(answer).toMatchObject(denied);
    }
  });

  it('H51 of two headers the first counts', async () => {
    const two = (first: string, second: string) =>
      `GET /v1/queues HTTP/1.1\r\nHost: x\r\nAuthorization: ${first}\r\nAuthorization: ${second}\r\n${CLOSE}\r\n`;
    const good = `Bearer ${KEY}`;
    expect(lastAnswer(await victim.raw(two(good, 'Bearer wrong-wrong-wrong')).received).status).toBe(200);
    expect(lastAnswer(await victim.raw(two('Bearer wrong-wrong-wrong', good)).received).status).toBe(401);
  });

  it.each(['bearer', 'BEARER'])('H52 the scheme may be written %s', async (scheme) => {
    expect((await victim.send('GET', '/v1/queues', undefined, { authorization: `${scheme} ${KEY}` })).status).toBe(200);
  });
});
