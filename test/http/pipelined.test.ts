import express, { type Response } from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { createAccessLog, listen, TrustedProxies } from '../../src/http/index.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { countedSince } from '../support/counted.ts';
import { type Api, openRaw, testApi } from '../support/fake-api.ts';
import { CREATED_AT, ID, job, KEY } from '../support/fake-services.ts';
import { waitFor } from '../support/wait-for.ts';

/** Requests that a client has pipelined behind one that is not answered, and what is left of them when it has gone. */

const MIB = 1024 * 1024;
const AUTHORIZED = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
/** `jobs.get` does not return in these tests. */
const FIRST = `GET /v1/jobs/${ID} HTTP/1.1\r\n${AUTHORIZED}\r\n`;
const LIST = `GET /v1/queues/${ID}/jobs HTTP/1.1\r\n${AUTHORIZED}\r\n`;
const PUBLISH = `POST /v1/queues/mails/jobs HTTP/1.1\r\n${AUTHORIZED}Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"payload":{}}`;
const never = () => new Promise<never>(() => undefined);

/** More publishes than a process works on at once. */
const TOO_MANY = 300;

/** Opens connections with 30 requests each behind the first one. */
function openPipelined(api: Api, request: string, total: number) {
  return Array.from({ length: total / 30 }, () => api.raw(FIRST + request.repeat(30)).socket);
}

function callsOf(api: Api, method: string): number {
  return api.calls.filter((call) => call.method === method).length;
}

async function statusOfPublish(api: Api): Promise<number> {
  return (await api.send('POST', '/v1/queues/mails/jobs', { body: '{"payload":{}}' })).status;
}

it('publishes give their turns back when their connection closes', async () => {
  let hangs = true;
  const published = { created: true, payloadDiffers: false, job: { id: ID, status: 'pending', createdAt: CREATED_AT } };
  const publish = async () => (hangs ? never() : (published as never));
  const api = await testApi({ services: { jobs: { get: never, publish } } });
  const sockets = openPipelined(api, PUBLISH, TOO_MANY);
  // The others wait for a turn.
  await waitFor(() => callsOf(api, 'jobs.publish') >= 256, { message: 'as many publishes as a process works on' });
  hangs = false;
  for (const socket of sockets) socket.destroy();
  await waitFor(async () => (await statusOfPublish(api)) === 201, { message: 'a publish that is stored' });
});

it('publishes that are answered keep no turn, however long their answers wait for the client', async () => {
  const api = await testApi({ services: { jobs: { get: never } } });
  openPipelined(api, PUBLISH, TOO_MANY);
  await waitFor(() => callsOf(api, 'jobs.publish') === TOO_MANY, { message: 'all publishes' });
  expect(await statusOfPublish(api)).toBe(201);
});

it('answers give the room of their account back when their connection closes', async () => {
  const page = { jobs: [{ ...job, payload: `{"text":"${'x'.repeat(12 * MIB)}"}` }], total: 1, page: 1, limit: 25 };
  const api = await testApi({
    services: { jobs: { get: never, list: async () => ({ ...page, appliedFrom: CREATED_AT }) } },
  });
  const { socket } = api.raw(FIRST + LIST.repeat(4));
  const status = async () => (await api.send('GET', '/v1/queues')).status;
  await waitFor(async () => (await status()) === 503, { message: 'a refusal' });
  socket.destroy();
  await waitFor(async () => (await status()) === 200, { message: 'room again' });
});

it('short answers count for the room of their account while they wait behind another one', async () => {
  const page = { jobs: [{ ...job, payload: `{"text":"${'x'.repeat(60 * 1024)}"}` }], total: 1, page: 1, limit: 25 };
  const api = await testApi({
    services: { jobs: { get: never, list: async () => ({ ...page, appliedFrom: CREATED_AT }) } },
  });
  // Half of each would fit. The kernel takes none of them.
  const sockets = [1, 2].map(() => api.raw(FIRST + LIST.repeat(400)).socket);
  const status = async () => (await api.send('GET', '/v1/queues')).status;
  await waitFor(async () => (await status()) === 503, { message: 'a refusal' });
  for (const socket of sockets) socket.destroy();
  await waitFor(async () => (await status()) === 200, { message: 'room again' });
});

it('requests of a closed connection are neither running nor missing in the access log and the metrics', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text)) });
  const watch = createAccessLog({ log, level: 'info', trustedProxies: new TrustedProxies([]) });
  const aborted = countedSince(counts.requests, 'GET\t/v1/queues/:id/jobs\taborted');
  const api = await testApi({ watch, timeouts: { grace: 60_000 }, services: { jobs: { get: never } } });
  const { socket } = api.raw(FIRST + LIST.repeat(3));
  await waitFor(() => callsOf(api, 'jobs.list') === 3, { message: 'the calls' });
  socket.destroy();
  await waitFor(() => lines.length === 4, { message: 'a line of each request' });
  expect(lines).toMatchObject([
    { route: '/v1/jobs/:id', status: null, cutOff: true },
    ...Array(3).fill({ route: '/v1/queues/:id/jobs', status: 200, cutOff: true }),
  ]);
  expect(aborted()).toBe(3);
  // Would wait for the end of the running requests, for a minute.
  await api.close();
});

it('a response that is cut off while it waits ends the connection, because those behind it cannot be sent', async () => {
  const responses: Response[] = [];
  const app = express();
  app.use((_req, res) => {
    responses.push(res);
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const { received } = openRaw(new URL(server.url), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
  const [first, cut, last] = await waitFor(() => responses.length === 3 && responses, { message: 'the requests' });
  cut?.destroy();
  last?.end('last');
  // Node before version 24 ends the connection only when it is the turn of the second one.
  first?.end('first');
  expect(await received).not.toContain('last');
});

it('each response of a closed connection emits one "close", whatever became of it before', async () => {
  const responses: Response[] = [];
  const closed: string[] = [];
  const app = express();
  app.use((req, res) => {
    responses.push(res);
    res.once('close', () => closed.push(`${req.path} ${res.destroyed} ${res.closed} ${res.writableFinished}`));
    // One that is answered, and one that is cut off, while they wait for the first one.
    if (req.path === '/answered') res.end('x');
    if (req.path === '/cut') res.destroy();
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const paths = ['/first', '/waiting', '/answered', '/cut'];
  const { socket } = openRaw(
    new URL(server.url),
    paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''),
  );
  await waitFor(() => responses.length === 4, { message: 'the requests' });
  socket.destroy();
  await waitFor(() => closed.length === 4, { message: 'the end of all' });
  for (const res of responses) res.end('later');
  await new Promise((resolve) => setImmediate(resolve));
  expect(closed.sort()).toEqual(paths.sort().map((path) => `${path} true true false`));
});
