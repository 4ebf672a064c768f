import { once } from 'node:events';
import { connect } from 'node:net';
import express from 'express';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { type ListenOptions, listen } from '../../src/http/index.ts';
import { testApi } from '../support/fake-api.ts';
import { account, ID, job, KEY } from '../support/fake-services.ts';
import { waitFor } from '../support/wait-for.ts';

/** Answers that clients do not read wait in memory: they are cut off, and bounded. */

const MIB = 1024 * 1024;
const LIST = `GET /v1/queues/${ID}/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

/** A page of one job with a payload of so many MiB. */
function pageOf(mib: number) {
  const payload = `{"text":"${'x'.repeat(mib * MIB)}"}`;
  return async () => ({ jobs: [{ ...job, payload }], total: 1, page: 1, limit: 25, appliedFrom: new Date(0) });
}

/**
 * Stops the clock by which clients are judged, so that a busy machine closes no connection.
 * @returns lets milliseconds pass
 */
function takeOverClock(): (ms: number) => void {
  let now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  return (ms) => {
    now += ms;
  };
}

/** Sends this many MiB to one connection, and reports when the server has finished. */
async function serve(mib: number, timeouts: NonNullable<ListenOptions['timeouts']>) {
  const app = express();
  const isOver = new Promise<void>((resolve) => {
    app.get('/', (_req, res) => {
      res.once('close', resolve);
      res.end('x'.repeat(mib * MIB));
    });
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0, timeouts });
  onTestFinished(() => server.close());
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  const connection = { socket, isOver, received: 0 };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    connection.received += chunk.length;
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return connection;
}

describe('a client that does not read', () => {
  it('is cut off when nothing was taken of its answer for long', async () => {
    const connection = await serve(16, { stalled: 200, check: 20 });
    connection.socket.pause();
    await connection.isOver;
    connection.socket.resume();
    await once(connection.socket, 'close');
    expect(connection.received).toBeLessThan(16 * MIB);
  });

  it('is not cut off for a time in which the process itself stalled', async () => {
    const pass = takeOverClock();
    const checks = (more: number) => {
      const { calls } = vi.mocked(performance.now).mock;
      const least = calls.length + more;
      return waitFor(() => calls.length >= least, { message: 'more checks' });
    };
    const connection = await serve(16, { stalled: 2000, check: 5 });
    connection.socket.pause();
    await checks(10);
    pass(5000);
    await checks(10);
    connection.socket.resume();
    await once(connection.socket, 'close');
    expect(connection.received).toBeGreaterThan(16 * MIB);
  });

  it('is left alone as long as it reads, however slowly', async () => {
    const pass = takeOverClock();
    const connection = await serve(32, { stalled: 2000, check: 5 });
    const { socket } = connection;
    // A chunk has 64 KiB, so that all of them take five seconds.
    socket.on('data', () => {
      socket.pause();
      pass(10);
      setImmediate(() => socket.resume());
    });
    await once(socket, 'close');
    expect(connection.received).toBeGreaterThan(32 * MIB);
  });

  it('takes the room of its account only, and gets no more before it has read', async () => {
    const other: Account = { ...account, id: `${account.id.slice(0, -1)}f` };
    const api = await testApi({
      services: {
        jobs: { list: pageOf(12) },
        accounts: { authenticate: async (key) => (key === KEY ? account : key === 'other' ? other : null) },
      },
    });
    const unread = [1, 2, 3, 4].map(() => {
      const connection = api.raw(LIST);
      connection.socket.pause();
      return connection;
    });
    const path = `/v1/queues/${ID}/jobs`;
    const refused = await waitFor(
      async () => {
        const { status, headers, json } = await api.send('GET', '/v1/queues');
        return status === 503 ? { headers, json } : undefined;
      },
      { message: 'a refusal' },
    );
    expect(refused).toMatchObject({
      headers: { 'retry-after': '1' },
      json: { error: expect.stringContaining('read') },
    });
    expect((await api.send('GET', path, { headers: { authorization: 'Bearer other' } })).status).toBe(200);

    for (const { socket } of unread) socket.destroy();
    await waitFor(async () => (await api.send('GET', path)).status === 200, { message: 'room again' });
  });
});

describe('lists that are streams and that no client reads', () => {
  it('take the room of their account, too', async () => {
    async function* rest() {
      for (let n = 0; n < 8; n += 1) yield (await pageOf(4)()).jobs;
    }
    const api = await testApi({
      services: { jobs: { list: async () => ({ ...(await pageOf(4)()), rest: rest() }) } },
    });
    for (let n = 0; n < 10; n += 1) api.raw(LIST).socket.pause();
    await waitFor(async () => (await api.send('GET', '/v1/queues')).status === 503, { message: 'a refusal' });
  });
});

describe('a client that reads steadily', () => {
  it('gets an answer that is written bit by bit to its end, however long that is', async () => {
    const app = express();
    const piece = Buffer.alloc(4 * MIB);
    let isComplete = false;
    app.get('/', (_req, res) => {
      res.once('close', () => {
        isComplete = res.writableFinished;
      });
      let left = 12;
      const write = () => {
        if (left-- === 0) res.end();
        else res.write(piece, () => setImmediate(write));
      };
      write();
    });
    // The first piece alone may take a second, the whole takes three.
    const slowest = { startMs: 100, bytesPerSecond: 4 * MIB };
    const pass = takeOverClock();
    const server = await listen(app, { host: '127.0.0.1', port: 0, timeouts: { check: 5 }, slowest });
    onTestFinished(() => server.close());
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let received = 0;
    // Four times as fast as it has to be.
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
      socket.pause();
      pass((chunk.length / (16 * MIB)) * 1000);
      setImmediate(() => socket.resume());
    });
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'close');
    expect(received).toBeGreaterThan(48 * MIB);
    expect(isComplete).toBe(true);
  });
});
