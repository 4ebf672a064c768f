import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bind, createApp, listen } from '../../src/http/index.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { countedSince } from '../support/counted.ts';
import { testApi } from '../support/fake-api.ts';
import { account, fakeServices, ID, job, KEY } from '../support/fake-services.ts';
import { statusOf } from '../support/status.ts';
import { waitFor } from '../support/wait-for.ts';

const LIST = `GET /v1/queues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`;

function emptyApp() {
  const config = { maxBodyBytes: 1, signatureHeader: 'x', templates: {} };
  const options = { config, log: { error: () => undefined } };
  return createApp({ ...options, ...fakeServices({}), readiness: async () => ({ ready: true, checks: {} }) });
}

const CONNECT = 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n';

/** A moment to wait for. (Node 20 has no `Promise.withResolvers`.) */
function signal() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** The head and JSON body of the last answer in what came over a connection. */
function lastAnswer(received: string): { head: string; json: unknown } {
  const [head = '', body = ''] = received.slice(received.lastIndexOf('HTTP/1.1 ')).split('\r\n\r\n');
  return { head, json: JSON.parse(body) };
}

describe('what never reaches the app', () => {
  it.each<[name: string, text: string, status: number]>([
    ['no HTTP at all', 'hello\r\n\r\n', 400],
    ['H28 two lengths', `${LIST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    ['H29 a length and chunks', `${LIST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`, 400],
    ['H30 bare line feeds', 'GET /v1/queues HTTP/1.1\nHost: x\n\n', 400],
    ['H31 NUL in a header', `${LIST}X: a\0b\r\n\r\n`, 400],
    ['H32 an unknown method', 'BREW /v1/queues HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['H33 a header of 20 kB', `${LIST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['H34 a path of 17 kB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['H35 an unknown expectation', `${LIST}Expect: foo\r\nConnection: close\r\n\r\n`, 417],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['a tunnel', CONNECT, 404],
    [
      'a broken chunk',
      `POST${LIST.slice(3).replace('queues', 'queues/mails/jobs')}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
    ],
  ])('is answered in JSON and then cut off: %s', async (_name, text, status) => {
    const api = await testApi();
    const { head, json } = lastAnswer(await api.raw(text).received);
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head.toLowerCase()).toContain('content-type: application/json');
    expect(json).toEqual({ error: expect.any(String) });
  });

  it('H36 is not waited for longer than the limits allow', async () => {
    const api = await testApi({ timeouts: { headers: 50, request: 100, check: 20 } });
    const head = lastAnswer(await api.raw(LIST).received);
    expect(head).toMatchObject({
      head: expect.stringMatching(/^HTTP\/1\.1 408 /),
      json: { error: expect.any(String) },
    });
    const post = LIST.replace('GET /v1/queues', 'POST /v1/queues/mails/jobs');
    const body = lastAnswer(await api.raw(`${post}Content-Length: 10\r\n\r\n{`).received);
    expect(body).toMatchObject({
      head: expect.stringMatching(/^HTTP\/1\.1 408 /),
      json: { error: expect.any(String) },
    });
    expect(api.logged).toEqual([]);
  });

  it.each([
    ['the whole of it', '', `${LIST}Connection: close\r\n\r\n`],
    ['the rest of its headers', LIST, 'Connection: close\r\n\r\n'],
    [
      'the rest of its body',
      `${LIST.replace('GET /v1/queues', 'POST /v1/queues/mails/jobs')}Connection: close\r\nContent-Length: 14\r\n\r\n{`,
      '"payload":{}}',
    ],
  ])('H36 is not refused as late when it came while the process stalled: %s', async (_name, begin, rest) => {
    const api = await testApi({ timeouts: { headers: 50, request: 100, check: 20 } });
    const { socket, received } = api.raw(begin);
    await once(socket, 'connect');
    // The server has the connection and its beginning. After an immediate, timers come before what is read.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    socket.write(rest);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    expect(await received).toMatch(/^HTTP\/1\.1 20[01] /);
  });

  it('does not take the place of an answer that is being worked on', async () => {
    const working = signal();
    const api = await testApi({
      services: {
        queues: {
          list: async () => {
            working.resolve();
            return new Promise(() => undefined);
          },
        },
      },
    });
    const { socket, received } = api.raw(`${LIST}\r\n`);
    await working.promise;
    socket.write('garbage\r\n\r\n');
    expect(await received).toBe('');
  });
});

describe('connections', () => {
  it('H39 answer 1000 pipelined requests in order', async () => {
    const getJob = async (_account: unknown, id: string) => {
      // Later ones are ready first.
      if (id.endsWith('0')) await new Promise((resolve) => setImmediate(resolve));
      return { ...job, id };
    };
    const api = await testApi({ services: { jobs: { get: getJob } } });
    const ids = Array.from({ length: 1000 }, (_, n) => n.toString().padStart(24, '0'));
    const requests = ids.map(
      (id, n) =>
        `GET /v1/jobs/${id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n${n === 999 ? 'Connection: close\r\n' : ''}\r\n`,
    );
    const received = await api.raw(requests.join('')).received;
    expect([...received.matchAll(/"id":"(\d{24})"/g)].map(([, id]) => id)).toEqual(ids);
  });

  it('H38 that only wait do not keep other clients from being served', async () => {
    const api = await testApi();
    const idle = Array.from({ length: 500 }, () => api.raw(''));
    expect((await api.send('GET', '/v1/queues')).status).toBe(200);
    for (const { socket } of idle) socket.destroy();
  });

  it('H36 that send nothing at all, or nothing more, are closed', async () => {
    const patient = await testApi({ timeouts: { keepAlive: 50 } });
    expect(await patient.raw(`${LIST}\r\n`).received).toContain('HTTP/1.1 200 ');
    const hasty = await testApi({ timeouts: { headers: 50, request: 100, check: 20 } });
    expect(lastAnswer(await hasty.raw('').received).head).toMatch(/^HTTP\/1\.1 408 /);
    expect([...patient.logged, ...hasty.logged]).toEqual([]);
  });

  it('may be reset by a client that has asked for a tunnel', async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on('uncaughtExceptionMonitor', note);
    onTestFinished(() => void process.off('uncaughtExceptionMonitor', note));
    const api = await testApi();
    for (let n = 0; n < 20; n += 1) {
      const { socket, received } = api.raw(CONNECT);
      socket.once('connect', () => setImmediate(() => socket.resetAndDestroy()));
      await received;
    }
    expect((await api.send('GET', '/healthz')).status).toBe(200);
    expect(uncaught).toEqual([]);
  });

  it('are closed after a request for a tunnel, although the client keeps its side open', async () => {
    const api = await testApi();
    const socket = connect({ port: Number(api.url.port), host: api.url.hostname, allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    let isReset = false;
    socket.on('error', () => {
      isReset = true;
    });
    socket.resume().write(CONNECT);
    await once(socket, 'end');
    await waitFor(() => isReset || (socket.write('x') && false), { message: 'a reset of the closed connection' });
  });

  it('end without another answer when a request for a tunnel follows one that is being worked on', async () => {
    const api = await testApi({ services: { jobs: { get: () => new Promise(() => undefined) } } });
    const running = LIST.replace('/v1/queues', `/v1/jobs/${ID}`).concat('\r\n');
    expect(await api.raw(running + CONNECT).received).toBe('');
  });

  it('accept Expect: 100-continue', async () => {
    const api = await testApi();
    const post = LIST.replace('GET /v1/queues', 'POST /v1/queues/mails/jobs');
    const { socket, received } = api.raw(
      `${post}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 14\r\n\r\n`,
    );
    socket.once('data', () => socket.write('{"payload":{}}'));
    expect(await received).toMatch(/^HTTP\/1\.1 100 Continue.*HTTP\/1\.1 201 /s);
  });
});

describe('closing', () => {
  it('ends idle and silent connections and lets an open request finish', async () => {
    const started = signal();
    const finish = signal();
    const api = await testApi({
      timeouts: { grace: 60_000 },
      services: {
        jobs: {
          get: async () => {
            started.resolve();
            await finish.promise;
            return job;
          },
        },
      },
    });
    const silent = api.raw('');
    const idle = api.raw(`${LIST}\r\n`);
    await new Promise((resolve) => idle.socket.once('data', resolve));
    const running = api.raw(LIST.replace('/v1/queues', `/v1/jobs/${ID}`).concat('\r\n'));
    await started.promise;

    const closed = api.close();
    expect(await idle.received).toContain('HTTP/1.1 200 ');
    await expect(api.send('GET', '/healthz')).rejects.toThrow();
    finish.resolve();
    const { head, json } = lastAnswer(await running.received);
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(head.toLowerCase()).toContain('connection: close');
    expect(json).toMatchObject({ id: ID });
    expect(await silent.received).toBe('');
    await closed;
  });

  it('does not wait for ever for a request that does not end', async () => {
    const started = signal();
    const api = await testApi({
      timeouts: { grace: 50 },
      services: {
        accounts: {
          authenticate: async () => {
            started.resolve();
            return account;
          },
        },
        jobs: { get: () => new Promise(() => undefined) },
      },
    });
    const { received } = api.raw(LIST.replace('/v1/queues', `/v1/jobs/${ID}`).concat('\r\n'));
    await started.promise;
    await api.close();
    expect(await received).toBe('');
  });
});

describe('listening', () => {
  it('reports why it cannot', async () => {
    const api = await testApi();
    await expect(listen(emptyApp(), { host: '127.0.0.1', port: Number(api.url.port) })).rejects.toThrow('is in use');
  });

  it('answers that the service is starting, and keeps requests, until there is an app', async () => {
    const bound = await bind({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => bound.close());
    const ask = async (path: string) => {
      const answer = await fetch(`${bound.url}${path}`);
      return [answer.status, answer.headers.get('retry-after'), await answer.json()];
    };
    const ready = countedSince(counts.requests, 'GET\t/readyz\t503');
    const early = Promise.all(Array.from({ length: 3 }, () => ask('/v1/queues')));
    expect(await ask('/healthz')).toEqual([200, null, { status: 'ok' }]);
    expect(await ask('/readyz')).toEqual([503, null, { status: 'not ready', checks: { start: 'under way' } }]);
    await waitFor(() => ready() === 1, { message: 'the count of the probe' });
    bound.serve(emptyApp());
    expect(await ask('/readyz')).toEqual([200, null, { status: 'ready', checks: {} }]);
    expect(await early).toEqual(Array(3).fill([401, null, { error: 'missing or invalid API key' }]));
  });

  it('refuses a request that has waited too long for the end of the start, or when the start fails', async () => {
    const bound = await bind({ host: '127.0.0.1', port: 0, timeouts: { start: 20 } });
    const atStart = countedSince(counts.requests, 'GET\tother\t503');
    const refused = await fetch(`${bound.url}/v1/queues`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toEqual({ error: expect.stringContaining('nothing was done') });
    await waitFor(() => atStart() === 1, { message: 'the count of the refusal' });
    await bound.close();

    const failing = await bind({ host: '127.0.0.1', port: 0, timeouts: { start: 60_000, grace: 60_000 } });
    const waiting = fetch(`${failing.url}/v1/queues`);
    // A later request that is answered: the first one has arrived.
    await fetch(`${failing.url}/healthz`);
    await failing.close();
    expect((await waiting).status).toBe(503);
  });

  it('keeps at most a thousand requests until the end of the start', async () => {
    const bound = await bind({ host: '127.0.0.1', port: 0, timeouts: { start: 60_000, grace: 60_000 } });
    const statuses: number[] = [];
    const all = Array.from({ length: 1005 }, () =>
      fetch(`${bound.url}/v1/queues`).then(({ status }) => statuses.push(status)),
    );
    await waitFor(() => statuses.length === 5, { message: 'five refusals' });
    bound.serve(emptyApp());
    await Promise.all(all);
    expect(statuses.filter((status) => status === 503)).toHaveLength(5);
    expect(statuses.filter((status) => status === 401)).toHaveLength(1000);
    await bound.close();
  });
});

describe('closing behind a proxy', () => {
  const ASK = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
  async function idleConnections() {
    const bound = await bind({ host: '127.0.0.1', port: 0, timeouts: { grace: 60_000 } });
    bound.serve(emptyApp());
    const port = Number(new URL(bound.url).port);
    const open = async () => {
      const socket = connect(port, '127.0.0.1');
      const ended = new Promise((resolve) => socket.once('close', resolve));
      const answer = () =>
        new Promise<string>((resolve) => {
          socket.once('data', (data) => resolve(data.toString()));
          socket.write(ASK);
        });
      expect(await answer()).toContain('Connection: keep-alive');
      return { answer, ended };
    };
    return { bound, first: await open(), second: await open() };
  }

  it('serves a last request on each idle connection, and no new connection', async () => {
    const { bound, first, second } = await idleConnections();
    const closed = bound.close(60_000);
    await expect(fetch(bound.url)).rejects.toThrow();
    for (const { answer, ended } of [first, second]) {
      expect(await answer()).toContain('Connection: close');
      await ended;
    }
    // Long before the time is over: there is no connection any more.
    await closed;
  });

  it('ends idle connections after that time', async () => {
    const { bound, first, second } = await idleConnections();
    await Promise.all([bound.close(20), first.ended, second.ended]);
  });
});

describe('a unix socket', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jf-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('is listened on, left alone while another process does, and removed at the end', async () => {
    const path = join(folder, 'api.sock');
    const bound = await bind({ host: path, port: 8080 });
    expect(bound.url).toBe(`unix:${path}`);
    expect(await statusOf(`unix:${path}`, '/healthz')).toBe(200);
    await expect(bind({ host: path, port: 8080 })).rejects.toThrow(`${path} is in use`);
    expect(await statusOf(`unix:${path}`, '/healthz')).toBe(200);
    await bound.close();
    expect(existsSync(path)).toBe(false);
  });

  it('a unix socket of a killed process is replaced, and another file is not', async () => {
    const path = join(folder, 'stale.sock');
    const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`;
    await new Promise((resolve) => spawn(process.execPath, ['-e', program]).once('close', resolve));
    expect(existsSync(path)).toBe(true);
    const bound = await bind({ host: path, port: 0 });
    expect(await statusOf(`unix:${path}`, '/healthz')).toBe(200);
    await bound.close();

    const file = join(folder, 'notes.txt');
    await writeFile(file, 'mine');
    await expect(bind({ host: file, port: 0 })).rejects.toThrow('is no socket');
    expect(await readFile(file, 'utf8')).toBe('mine');
    await expect(bind({ host: join(folder, 'none/api.sock'), port: 0 })).rejects.toThrow('its folder must exist');
  });
});
