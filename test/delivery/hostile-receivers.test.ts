import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import type { Lookup } from '../../src/delivery/resolver.ts';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/send.ts';
import { type RawServer, startRawServer } from '../support/raw-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait-for.ts';

/** Fault numbers are those of docs/invariants.md. */

const opened: { close(): Promise<void> }[] = [];

function setup(options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({
    timeoutMs: 5000,
    signatureHeader: 'x-service-signature',
    allowCidrs: ['127.0.0.0/8'],
    ...options,
  });
  opened.push(sender);
  return sender;
}

async function rawServer(onConnection: (socket: Socket) => void): Promise<RawServer> {
  const server = await startRawServer(onConnection);
  opened.push(server);
  return server;
}

/** Answers every request with these bytes, then does what `then` specifies. */
function answering(bytes: string | Buffer, after: (socket: Socket) => void = () => {}): Promise<RawServer> {
  return rawServer((socket) => {
    socket.once('data', () => socket.write(bytes, () => after(socket)));
  });
}

function post(sender: Sender, url: string) {
  return sender.send({ url, secret: 's', body: Buffer.from('{}') });
}

/** Writes one byte after the other until the sender hangs up. */
function drip(socket: Socket, bytes: string, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => socket.write(bytes[at++ % bytes.length] ?? ''), everyMs);
  socket.once('close', () => clearInterval(timer));
}

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

const HEAD = 'HTTP/1.1 200 OK\r\n';

describe('F-11: no answer in time', () => {
  const timeoutMs = 300;

  async function expectTimeout(url: string, options: Partial<SenderOptions> = {}): Promise<void> {
    const result = await post(setup({ timeoutMs, ...options }), url);
    expect(result).toMatchObject({ answer: { kind: 'no_answer', error: 'timeout' }, responseBody: null });
    // libuv counts whole milliseconds.
    expect(result.abandoned ? 0 : result.durationMs).toBeGreaterThanOrEqual(timeoutMs - 2);
  }

  it('the receiver sends nothing, and sees the sender hang up', async () => {
    const server = await rawServer(() => {});
    await expectTimeout(server.url);
    await server.waitForClosed(1);
  });

  it('the receiver thinks for too long', async () => {
    const receiver = await startReceiver({ respond: { delayMs: 60_000 } });
    opened.push(receiver);
    await expectTimeout(receiver.url);
    await receiver.waitFor(() => receiver.inFlight === 0);
  });

  it('the headers come byte by byte', async () => {
    const server = await rawServer((socket) => {
      socket.once('data', () => drip(socket, `${HEAD}x-long: ${'x'.repeat(4000)}`, 10));
    });
    await expectTimeout(server.url);
    await server.waitForClosed(1);
  });

  it('only informational answers come', async () => {
    const server = await answering('', (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 10);
      socket.once('close', () => clearInterval(timer));
    });
    await expectTimeout(server.url);
    await server.waitForClosed(1);
  });

  it('F-18: the resolver does not answer', async () => {
    const lookup: Lookup = () => {};
    await expectTimeout('http://silent.test/', { lookup });
  });

  it('F-16: TLS is not answered', async () => {
    const server = await rawServer(() => {});
    await expectTimeout(server.url.replace('http:', 'https:'));
    await server.waitForClosed(1);
  });
});

describe('F-12: the status line decides, whatever the body does', () => {
  it('a body that drips is cut off long before the deadline', async () => {
    const server = await answering(`${HEAD}content-length: 100000\r\n\r\n`, (socket) => drip(socket, 'drip', 20));
    const result = await post(setup({ timeoutMs: 60_000 }), server.url);
    expect(result).toMatchObject({
      answer: { kind: 'answered', statusCode: 200 },
      responseBody: expect.stringMatching(/^drip/),
    });
    await server.waitForClosed(1);
  });

  it('a body that never begins, with the deadline near', async () => {
    const server = await answering(`${HEAD}content-length: 5\r\n\r\n`);
    const sender = setup({ timeoutMs: 300 });
    // One status line in time suffices, so a machine that is busy for a while does no harm.
    const answered = await waitFor(async () => {
      const result = await post(sender, server.url);
      return !result.abandoned && result.answer.kind === 'answered' && result;
    });
    expect(answered).toMatchObject({ answer: { kind: 'answered', statusCode: 200 }, responseBody: '' });
    await server.waitForClosed(1);
  });
});

describe('F-13: large bodies', () => {
  it('100 endless ones at once are cut off at 4 KiB', async () => {
    const block = Buffer.alloc(64 * 1024, 'e');
    const server = await answering(`${HEAD}transfer-encoding: chunked\r\n\r\n`, (socket) => {
      const pump = () => {
        while (!socket.destroyed) {
          socket.write('10000\r\n');
          socket.write(block);
          if (!socket.write('\r\n')) break;
        }
      };
      socket.on('drain', pump);
      pump();
    });
    const sender = setup({ timeoutMs: 60_000 });
    const before = process.memoryUsage().arrayBuffers;
    const results = await Promise.all(Array.from({ length: 100 }, () => post(sender, server.url)));
    for (const result of results) {
      expect(result).toMatchObject({ answer: { kind: 'answered', statusCode: 200 }, responseBody: 'e'.repeat(4096) });
    }
    await server.waitForClosed(100);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(48 * 2 ** 20);
    // The kernel buffers of a connection set the limit, and not what the receiver would like to send. One that closes
    // later has no number yet.
    expect(Math.max(...Object.values(server.sent))).toBeLessThan(16 * 2 ** 20);
  });

  it('a gzip bomb is not inflated', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20));
    const receiver = await startReceiver({ respond: { headers: { 'content-encoding': 'gzip' }, body: bomb } });
    opened.push(receiver);
    const result = await post(setup(), receiver.url);
    expect(result).toMatchObject({
      answer: { kind: 'answered', statusCode: 200 },
      responseBody: bomb.subarray(0, 4096).toString('utf8').replaceAll('\0', '\ufffd'),
    });
  });

  it('random bytes become text', async () => {
    const receiver = await startReceiver({ respond: { body: randomBytes(10_000) } });
    opened.push(receiver);
    const result = await post(setup(), receiver.url);
    const body = result.abandoned ? null : result.responseBody;
    expect(body?.includes('\0')).toBe(false);
    expect(body?.length).toBeLessThanOrEqual(4096);
  });
});

const answered = (statusCode: number) => ({ kind: 'answered', statusCode });
const noAnswer = (error: string) => ({ kind: 'no_answer', error });
const INTERIM = [100, 103, 102, 100, 199].map((status) => `HTTP/1.1 ${status} Wait\r\nlink: x\r\n\r\n`).join('');
const SWITCHING = 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';

describe('F-14: broken answers', () => {
  it.each([
    ['no HTTP at all', 'hello there\r\n', noAnswer('invalid_response')],
    ['HTTP/0.9', '<html></html>', noAnswer('invalid_response')],
    ['a status of letters', 'HTTP/1.1 abc\r\n\r\n', noAnswer('invalid_response')],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', noAnswer('invalid_response')],
    ['status 000', 'HTTP/1.1 000 Zero\r\ncontent-length: 0\r\n\r\n', noAnswer('invalid_response')],
    ['status 42', 'HTTP/1.1 042 Low\r\ncontent-length: 0\r\n\r\n', noAnswer('invalid_response')],
    ['status 100', 'HTTP/1.1 100 Continue\r\n\r\n', noAnswer('reset')],
    ['half a status 100', 'HTTP/1.1 100 Con', noAnswer('reset')],
    ['100 and then 204', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n', answered(204)],
    ['100 without a reason', 'HTTP/1.1 100\r\nx: 1\r\n\r\nHTTP/1.1 503 No\r\n\r\n', answered(503)],
    ['all kinds of 1xx', `${INTERIM}HTTP/1.1 204 No\r\n\r\n`, answered(204)],
    ['a 100 of 20 kB', `HTTP/1.1 100 Go\r\nx: ${'x'.repeat(20_000)}\r\n\r\n${HEAD}\r\n`, noAnswer('invalid_response')],
    ['100 again and again', 'HTTP/1.1 100 Go\r\n\r\n'.repeat(2000), noAnswer('invalid_response')],
    ['100 and then 101', `HTTP/1.1 100 Go\r\n\r\n${SWITCHING}`, noAnswer('invalid_response')],
    ['status 101', SWITCHING, noAnswer('invalid_response')],
    ['103 and then 204', 'HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n', answered(204)],
    ['status 999', 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n', answered(999)],
    ['a header of 20 kB', `${HEAD}x: ${'x'.repeat(20_000)}\r\n\r\n`, noAnswer('invalid_response')],
    ['5000 headers', `${HEAD}${'x: 12345678\r\n'.repeat(5000)}\r\n`, noAnswer('invalid_response')],
    ['two lengths', `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\nab`, noAnswer('invalid_response')],
    ['a length of letters', `${HEAD}content-length: x\r\n\r\n`, noAnswer('invalid_response')],
    [
      'length and chunks',
      `${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      noAnswer('invalid_response'),
    ],
    ['a bad chunk', `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n`, answered(200)],
    ['an answer without end', `${HEAD}\r\nbody`, answered(200)],
    ['a body shorter than said', `${HEAD}content-length: 100\r\n\r\nshort`, answered(200)],
    ['more than one answer', `${HEAD}content-length: 0\r\n\r\n${HEAD}content-length: 0\r\n\r\n`, answered(200)],
    ['half a status line', 'HTTP/1.1 20', noAnswer('reset')],
    ['half a header', `${HEAD}content-le`, noAnswer('reset')],
    ['nothing', '', noAnswer('reset')],
  ])('%s', async (_name, bytes, answer) => {
    const server = await answering(bytes, (socket) => socket.end());
    expect(await post(setup(), server.url)).toMatchObject({ answer });
    expect(server.connections).toBe(1);
  });

  it('an unrequested 100 is ignored on every request of a connection, however it is cut', async () => {
    const bytes = `${INTERIM}${HEAD}content-length: 12\r\n\r\nHTTP/1.1 100`;
    const server = await rawServer((socket) => {
      socket.setNoDelay(true);
      socket.on('data', async () => {
        for (const byte of bytes) await new Promise((resolve) => socket.write(byte, resolve));
      });
    });
    const sender = setup();
    for (let n = 0; n < 3; n += 1) {
      expect(await post(sender, server.url)).toMatchObject({ answer: answered(200), responseBody: 'HTTP/1.1 100' });
    }
    expect(server.connections).toBe(1);
  });

  it.each([
    ['a 100', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['half of a 100', 'HTTP/1.1 100 Con'],
  ])('a connection lost after %s is not tried again: the receiver has the request', async (_what, bytes) => {
    let requests = 0;
    const server = await rawServer((socket) => {
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write(`${HEAD}content-length: 0\r\n\r\n`);
        else socket.write(bytes, () => socket.resetAndDestroy());
      });
    });
    const sender = setup();
    expect(await post(sender, server.url)).toMatchObject({ answer: answered(200) });
    expect(await post(sender, server.url)).toMatchObject({ answer: noAnswer('reset') });
    expect([requests, server.connections]).toEqual([2, 1]);
  });

  it('a reset instead of an answer', async () => {
    const server = await rawServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await post(setup(), server.url)).toMatchObject({ answer: noAnswer('reset'), responseBody: null });
    expect(server.connections).toBe(1);
  });

  it('a reset in the body', async () => {
    const server = await answering(`${HEAD}content-length: 9\r\n\r\nhalf`, (socket) => socket.resetAndDestroy());
    expect(await post(setup(), server.url)).toMatchObject({ answer: answered(200) });
  });

  it('a reset before a byte is read', async () => {
    const server = await rawServer((socket) => socket.resetAndDestroy());
    expect(await post(setup(), server.url)).toMatchObject({ answer: noAnswer('reset') });
  });

  it('an answer before the request is all there', async () => {
    const server = await rawServer((socket) => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    });
    const body = Buffer.alloc(20 * 2 ** 20);
    expect(await setup().send({ url: server.url, secret: 's', body })).toMatchObject({ answer: answered(413) });
  });

  it.each([
    [200, 300_000],
    [401, 30_000],
    [401, 5000],
  ])('an answer %i before a request of %i bytes is read, on a connection that stays open', async (status, bytes) => {
    let connections = 0;
    const server = await rawServer((socket) => {
      connections += 1;
      socket.once('data', async () => {
        socket.pause();
        // In which a receiver that is near could have read all of it.
        await sleep(30);
        socket.write(`HTTP/1.1 ${status} Early\r\ncontent-length: 0\r\n\r\n`);
      });
    });
    const sender = setup();
    for (let n = 1; n <= 2; n += 1) {
      const sent = sender.send({ url: server.url, secret: 's', body: Buffer.alloc(bytes) });
      expect(await sent).toMatchObject({ answer: answered(status) });
      expect(connections).toBe(n);
    }
  });

  it('does no harm to the next delivery', async () => {
    const server = await answering(
      `${HEAD}content-length: 0\r\n\r\nHTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n`,
    );
    const sender = setup();
    for (let n = 0; n < 5; n += 1) expect(await post(sender, server.url)).toMatchObject({ answer: answered(200) });
  });
});

describe('no receiver', () => {
  it('is a refused connection', async () => {
    const port = await freePort();
    const sender = setup({ lookup: (_name, _options, callback) => callback(null, [LOOPBACK, OTHER_LOOPBACK]) });
    expect(await post(sender, `http://127.0.0.1:${port}/`)).toMatchObject({ answer: noAnswer('connection_refused') });
    expect(await post(sender, `http://two.test:${port}/`)).toMatchObject({ answer: noAnswer('connection_refused') });
  });

  it.each([
    ['ENOTFOUND', 'getaddrinfo', 'dns_error'],
    ['EAI_AGAIN', 'getaddrinfo', 'dns_error'],
    ['ESERVFAIL', 'getaddrinfo', 'dns_error'],
  ])('is a name without an address: %s', async (code, syscall, error) => {
    const failure = Object.assign(new Error(code), { code, syscall });
    const sender = setup({ lookup: (_name, _options, callback) => callback(failure, []) });
    expect(await post(sender, 'http://unknown.test/')).toMatchObject({ answer: noAnswer(error), responseBody: null });
  });

  it.each(['', 'not a url', 'ftp://127.0.0.1/', 'javascript:1', 'http://'])('is "%s"', async (url) => {
    expect(await post(setup(), url)).toMatchObject({ answer: noAnswer('network_error') });
  });
});

const LOOPBACK = { address: '127.0.0.1', family: 4 };
const OTHER_LOOPBACK = { address: '127.0.0.2', family: 4 };
