import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { buildEnvelope } from '../../src/delivery/envelope.ts';
import type { Lookup } from '../../src/delivery/resolver.ts';
import { createAgent, createSender, type Sender, type SenderOptions } from '../../src/delivery/send.ts';
import { standardHeaders } from '../../src/delivery/signature.ts';
import { type RawServer, startRawServer } from '../support/raw-server.ts';
import { type Receiver, type ReceiverOptions, startReceiver, verifySignature } from '../support/receiver.ts';
import { waitFor } from '../support/wait-for.ts';

const SECRET = 'a secret of one queue';
const BODY = buildEnvelope({
  id: '0123456789abcdef01234567',
  queue: 'mails',
  payload: '{"n":9007199254740993}',
  attempt: 1,
  maxAttempts: 3,
  createdAt: new Date('2030-01-01T00:00:00Z'),
});

const opened: { close(): Promise<void> }[] = [];

function setup(options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({
    timeoutMs: 5000,
    signatureHeader: 'x-service-signature',
    allowCidrs: ['127.0.0.0/8', '::1/128'],
    ...options,
  });
  opened.push(sender);
  return sender;
}

async function receiverWith(respond: ReceiverOptions['respond'] = {}): Promise<Receiver> {
  const receiver = await startReceiver({ respond });
  opened.push(receiver);
  return receiver;
}

async function rawServer(onConnection: Parameters<typeof startRawServer>[0]): Promise<RawServer> {
  const server = await startRawServer(onConnection);
  opened.push(server);
  return server;
}

function post(sender: Sender, url: string, stillMine?: (remainingMs: number) => boolean) {
  return sender.send({ url, secret: SECRET, body: BODY, stillMine });
}

afterEach(async () => {
  // Receivers first: a sender waits for open requests.
  for (const part of opened.splice(0).reverse()) await part.close();
});

describe('the request', () => {
  it('is a signed POST of exactly these bytes', async () => {
    const receiver = await receiverWith({ body: 'thanks' });
    const result = await post(setup(), `${receiver.url}/hook/a%20b?x=1&y=ü#fragment`);
    expect(result).toEqual({
      answer: { kind: 'answered', statusCode: 200, retryAfter: null },
      durationMs: expect.any(Number),
      responseBody: 'thanks',
    });
    const [request] = receiver.requests;
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/hook/a%20b?x=1&y=%C3%BC');
    expect(request?.raw.equals(BODY)).toBe(true);
    expect(request?.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'jobferry',
      'content-length': String(BODY.length),
      'x-service-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
    });
    expect(request?.rawHeaders.filter((name) => name.toLowerCase() === 'x-service-signature')).toHaveLength(1);
    expect(verifySignature(BODY, request?.headers['x-service-signature'], SECRET)).toBe(true);
  });

  it('names its job in headers, and in ack mode the time-out of the report', async () => {
    const receiver = await receiverWith();
    const sender = setup();
    const job = { id: '0123456789abcdef01234567', queue: 'mails', queueId: 'queue', attempt: 2, ackTimeout: null };
    for (const ackTimeout of [null, 0.5]) {
      await sender.send({ url: receiver.url, secret: SECRET, body: BODY, job: { ...job, ackTimeout } });
    }
    const named = receiver.requests.map(({ headers }) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-jobferry-'))),
    );
    const standard = { 'x-jobferry-job': job.id, 'x-jobferry-queue': 'mails', 'x-jobferry-attempt': '2' };
    expect(named).toEqual([standard, { ...standard, 'x-jobferry-ack-timeout': '0.5' }]);
  });

  it('has the headers of Standard Webhooks beside its own if it is asked to, by the same bytes', async () => {
    const receiver = await receiverWith();
    const sender = setup();
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const job = { id: '0123456789abcdef01234567', queue: 'mails', queueId: 'queue', attempt: 2, ackTimeout: null };
    const request = { url: receiver.url, secret, body: BODY, job };
    for (const standardWebhooks of [undefined, false, true]) await sender.send({ ...request, standardWebhooks });
    // A forged test request: these are not the bytes that are sent.
    await sender.send({ ...request, standardWebhooks: true, test: { signs: Buffer.from('other') } });
    await sender.send({ ...request, standardWebhooks: true, test: { signs: null } });
    const isStandard = receiver.requests.map(({ headers, raw }) => {
      const { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signature } = headers;
      if ([id, seconds, signature].every((value) => value === undefined)) return null;
      expect(id).toBe(job.id);
      return String(standardHeaders(job.id, raw, [secret], Number(seconds))[5]) === signature;
    });
    expect(isStandard).toEqual([null, null, true, false, null]);
    const isSigned = receiver.requests.map(({ headers, raw }) =>
      verifySignature(raw, headers['x-service-signature'], secret),
    );
    expect(isSigned).toEqual([true, true, true, false, false]);
  });

  it.each([
    ['permanent', true],
    [' Permanent ', true],
    ['temporary', undefined],
  ])('reads the outcome that the answer has as %j (D39)', async (outcome, isPermanent) => {
    const receiver = await receiverWith({ status: 422, headers: { 'x-jobferry-outcome': outcome } });
    const result = await post(setup(), receiver.url);
    expect(result).toMatchObject({ answer: { kind: 'answered', statusCode: 422 } });
    expect('answer' in result && result.answer.kind === 'answered' && result.answer.isPermanent).toBe(isPermanent);
  });

  it('uses the configured signature header', async () => {
    const receiver = await receiverWith();
    await post(setup({ signatureHeader: 'x-ferry-signature' }), receiver.url);
    expect(verifySignature(BODY, receiver.requests[0]?.headers['x-ferry-signature'], SECRET)).toBe(true);
  });

  it('carries a body of a megabyte', async () => {
    const receiver = await receiverWith();
    const body = Buffer.alloc(1 << 20, 'x');
    await setup().send({ url: receiver.url, secret: SECRET, body });
    expect(receiver.requests[0]?.raw.equals(body)).toBe(true);
  });

  it('goes to a name, whose addresses are checked', async () => {
    const receiver = await receiverWith();
    const lookup: Lookup = (_hostname, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const result = await post(setup({ lookup }), `http://hooks.test:${receiver.port}/`);
    expect(result).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
    expect(receiver.requests[0]?.headers.host).toBe(`hooks.test:${receiver.port}`);
  });

  it('tries the other addresses of a name', async () => {
    const receiver = await receiverWith();
    const lookup: Lookup = (_hostname, _options, callback) =>
      callback(null, [
        { address: '127.0.0.2', family: 4 },
        { address: '::1', family: 6 },
        { address: '127.0.0.1', family: 4 },
      ]);
    const result = await post(setup({ lookup }), `http://hooks.test:${receiver.port}/`);
    expect(result).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
  });
});

describe('the answer', () => {
  it.each([200, 201, 204, 299, 301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503, 529, 599])(
    'is classified by its status: %i',
    async (status) => {
      const receiver = await receiverWith({ status, headers: { location: '/elsewhere' } });
      expect(await post(setup(), receiver.url)).toMatchObject({ answer: { kind: 'answered', statusCode: status } });
      expect(receiver.requests).toHaveLength(1);
    },
  );

  it.each([301, 302, 303, 307, 308])('is never a redirect to follow (S85, F-17): %i', async (status) => {
    const target = await receiverWith();
    const receiver = await receiverWith({ status, headers: { location: `${target.url}/` } });
    expect(await post(setup(), receiver.url)).toMatchObject({ answer: { kind: 'answered', statusCode: status } });
    expect(target.connections).toBe(0);
  });

  it.each([
    [['7'], '7'],
    [['1', '2', '30'], '30'],
    [['Wed, 21 Oct 2015 07:28:00 GMT'], 'Wed, 21 Oct 2015 07:28:00 GMT'],
    [[''], ''],
  ])('hands on the last Retry-After of %j', async (headers, retryAfter) => {
    const receiver = await receiverWith({ status: 429, headers: { 'retry-after': headers } });
    expect(await post(setup(), receiver.url)).toMatchObject({
      answer: { kind: 'answered', statusCode: 429, retryAfter },
    });
  });

  it.each([
    ['nothing', '', ''],
    ['text', 'größer', 'größer'],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ['a NUL', 'a\0b', 'a\ufffdb'],
    ['exactly 4 KiB', 'x'.repeat(4096), 'x'.repeat(4096)],
    ['more than 4 KiB', `${'x'.repeat(4096)}y`, 'x'.repeat(4096)],
    ['a character across the cut', `${'x'.repeat(4095)}üyz`, 'x'.repeat(4095)],
  ])('is kept up to 4 KiB: %s', async (_name, body, kept) => {
    const receiver = await receiverWith({ body });
    expect(await post(setup(), receiver.url)).toMatchObject({ responseBody: kept });
  });
});

describe('connections', () => {
  it('are reused: 50 sends in turn take one', async () => {
    const receiver = await receiverWith({ body: 'x'.repeat(6000) });
    const sender = setup();
    for (let n = 0; n < 50; n += 1) await post(sender, receiver.url);
    expect(receiver.requests).toHaveLength(50);
    expect(receiver.connections).toBe(1);
  });

  it.each([
    [401, 4096],
    [200, 256 * 1024],
  ])('are reused after an answer %i to %i bytes', async (status, bytes) => {
    const receiver = await receiverWith({ status });
    const sender = setup();
    for (let n = 0; n < 2; n += 1)
      await sender.send({ url: receiver.url, secret: 's', body: Buffer.alloc(bytes, 'x') });
    expect(receiver.connections).toBe(1);
  });

  it('carry one request at a time', async () => {
    const receiver = await receiverWith(async () => {
      await receiver.waitFor(20);
      return {};
    });
    const sender = setup();
    await Promise.all(Array.from({ length: 20 }, () => post(sender, receiver.url)));
    expect(receiver.connections).toBe(20);
    expect(receiver.maxInFlight).toBe(20);
  });

  it('connections that the receiver closes while idle cost no attempt', async () => {
    const server = await rawServer((socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.end();
      });
    });
    const sender = setup();
    for (let n = 0; n < 10; n += 1) {
      expect(await post(sender, server.url)).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
    }
  });

  it.each([
    ['closed', (close: { end(): void }) => close.end()],
    ['reset', (close: { resetAndDestroy(): void }) => close.resetAndDestroy()],
  ])('connections that are %s instead of a second answer are replaced once', async (_name, hangUp) => {
    const server = await rawServer((socket, number) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write(`HTTP/1.1 20${number} OK\r\ncontent-length: 0\r\n\r\n`);
        else hangUp(socket);
      });
    });
    const sender = setup();
    expect(await post(sender, server.url)).toMatchObject({ answer: { statusCode: 201 } });
    expect(await post(sender, server.url)).toMatchObject({ answer: { statusCode: 202 } });
    expect(server.connections).toBe(2);
  });

  it('are replaced once only', async () => {
    const server = await rawServer((socket, number) => {
      socket.once('data', () => {
        if (number > 1) return socket.destroy();
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => socket.destroy());
      });
    });
    const sender = setup();
    await post(sender, server.url);
    expect(await post(sender, server.url)).toMatchObject({ answer: { kind: 'no_answer', error: 'reset' } });
    expect(server.connections).toBe(2);
  });

  it('are not replaced once the answer has begun', async () => {
    const server = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => socket.end('HTTP/1.1 20'));
      });
    });
    const sender = setup();
    await post(sender, server.url);
    expect(await post(sender, server.url)).toMatchObject({ answer: { kind: 'no_answer' } });
    expect(server.connections).toBe(1);
  });

  it('are not replaced when they break while the receiver is at work', async () => {
    const server = await rawServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        socket.once('data', () => setTimeout(() => socket.destroy(), 1100));
      });
    });
    const sender = setup();
    await post(sender, server.url);
    expect(await post(sender, server.url)).toMatchObject({ answer: { kind: 'no_answer', error: 'reset' } });
    expect(server.connections).toBe(1);
  });
});

describe('connections that wait for the next request', () => {
  it('are kept up to a number, and none beyond it', async () => {
    const answering = () =>
      rawServer((socket) => {
        socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
      });
    const servers = [await answering(), await answering(), await answering()];
    const sender = setup({ maxSockets: 2 });
    for (let n = 0; n < 2; n += 1) for (const { url } of servers) await post(sender, url);
    await servers[2]?.waitForClosed(2);
    expect(servers.map(({ connections }) => connections)).toEqual([2, 2, 2]);
  });

  it('leave nothing of their receivers behind when they have closed, or were never open', async () => {
    const server = await rawServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'));
    });
    const lookup: LookupFunction = (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const connect = buildConnector({ lookup });
    const agent = createAgent({ connect, pipelining: 1 }, { accountId: '' });
    opened.push({ close: () => agent.destroy() });
    const request = { path: '/', method: 'POST' } as const;
    const answers = Array.from({ length: 200 }, async (_, n) => {
      const port = n % 2 === 0 ? server.port : 1;
      const answer = agent.request({ ...request, origin: `http://receiver-${n}.test:${port}` });
      return answer.then(({ statusCode, body }) => body.dump().then(() => statusCode)).catch(({ code }) => code);
    });
    expect(Object.keys(agent.stats)).toHaveLength(200);
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200, 'ECONNREFUSED']));
    await waitFor(() => Object.keys(agent.stats).length === 0, { message: 'no receiver to be kept' });
  });
});

describe('a claim that is gone', () => {
  it('is not delivered', async () => {
    const receiver = await receiverWith();
    const sender = setup();
    expect(await post(sender, receiver.url, () => false)).toEqual({ abandoned: true });
    expect(await post(sender, receiver.url, () => true)).toMatchObject({ answer: { statusCode: 200 } });
    expect(receiver.requests).toHaveLength(1);
  });

  it('a delivery whose claim ended while connecting is abandoned, and nothing is written', async () => {
    const server = await rawServer(() => {});
    let isMine = true;
    const lookup: Lookup = (_hostname, _options, callback) => {
      isMine = false;
      process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const sender = setup({ lookup });
    expect(await post(sender, `http://hooks.test:${server.port}/`, () => isMine)).toEqual({ abandoned: true });
    await server.waitForClosed(1);
    expect(server.received).toEqual(['']);
  });

  it('is noticed before the second try, too', async () => {
    const server = await rawServer((socket) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        else socket.destroy();
      });
    });
    const sender = setup();
    await post(sender, server.url);
    const asked: number[] = [];
    // The first try finds the claim, and a connection that the receiver closes; the second one finds it gone.
    const stillMine = () => asked.push(server.connections) <= 2;
    expect(await post(sender, server.url, stillMine)).toEqual({ abandoned: true });
    await server.waitForClosed(2);
    expect(server.received[1]).toBe('');
    // At the start, and when there was a connection to write to, each time.
    expect(asked).toHaveLength(3);
  });

  it('is checked before connecting, and once per write when the connection is open', async () => {
    const server = await rawServer((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    let connected = false;
    const lookup: Lookup = (_hostname, _options, callback) => {
      connected = true;
      process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const sender = setup({ lookup });
    const asked: boolean[] = [];
    for (let n = 0; n < 3; n += 1) {
      await post(sender, `http://hooks.test:${server.port}/`, () => asked.push(connected) > 0);
    }
    expect(asked).toEqual([false, true, true, true, true, true]);
  });

  it('is not delivered to the connection that comes after the deadline', async () => {
    const server = await rawServer(() => {});
    let connect = () => {};
    // The connector's own bound is coarser than the deadline, so that the look-up is still waited for.
    const lookup: Lookup = (_hostname, _options, callback) => {
      connect = () => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const result = await post(setup({ lookup, timeoutMs: 100 }), `http://hooks.test:${server.port}/`);
    expect(result).toMatchObject({ answer: { kind: 'no_answer', error: 'timeout' }, responseBody: null });
    connect();
    await server.waitForClosed(1);
    expect(server.received).toEqual(['']);
  });
});

describe('a process that is held up before it writes', () => {
  const holdUp = () => {
    const until = performance.now() + 500;
    while (performance.now() < until);
  };

  it.each([
    ['connects too late', true],
    ['never connects', false],
  ])('a held-up process that %s gives the job back, and says nothing of its receiver', async (_what, connects) => {
    const server = await rawServer(() => {});
    const lookup: Lookup = (_hostname, _options, callback) => {
      // At once: on a busy machine the deadline could pass before it in good time.
      holdUp();
      if (connects) process.nextTick(callback, null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const url = `http://hooks.test:${server.port}/`;
    expect(await post(setup({ lookup, timeoutMs: 100 }), url, () => true)).toEqual({ abandoned: true });
    // A test request has no job to give back.
    expect(await post(setup({ lookup, timeoutMs: 100 }), url)).toMatchObject({ answer: { error: 'timeout' } });
    expect(server.received.join('')).toBe('');
  });
});

describe('closing', () => {
  it('waits for open requests', async () => {
    let release = () => {};
    const receiver = await receiverWith(async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return { status: 202 };
    });
    const sender = setup();
    const sending = post(sender, receiver.url);
    await receiver.waitFor(1);
    const closing = sender.close();
    release();
    expect(await sending).toMatchObject({ answer: { kind: 'answered', statusCode: 202 } });
    await closing;
    expect(await post(sender, receiver.url)).toMatchObject({ answer: { kind: 'no_answer', error: 'network_error' } });
  });
});

describe('an answer that arrives while the event loop is blocked past the deadline', () => {
  it('counts, because it was sent in time', async () => {
    // In a process of its own: the blocked loop must not delay the answer.
    const program = `
      const server = require('node:http').createServer((req, res) => process.send('asked') && setTimeout(() => res.end('done'), 100));
      server.listen(0, '127.0.0.1', () => process.send(server.address().port));`;
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    opened.push({ close: async () => void child.kill() });
    const [port] = (await once(child, 'message')) as [number];
    const sender = setup({ timeoutMs: 400 });
    // One answer that comes before the loop goes on suffices: without the rule there would be none.
    await waitFor(async () => {
      const connected = once(child, 'message');
      const sent = post(sender, `http://127.0.0.1:${port}/`);
      // Only an answer to a request that was written can be in the socket.
      await connected;
      const blockedUntil = performance.now() + 1000;
      while (performance.now() < blockedUntil);
      expect(await sent).toMatchObject({ answer: { kind: 'answered', statusCode: 200 }, responseBody: 'done' });
      return true;
    });
  });
});
