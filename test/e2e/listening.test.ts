import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { createAccount } from '../support/account.ts';
import { createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { connect, createTestDatabase } from '../support/database.ts';
import { type LogLine, startJobferry } from '../support/process.ts';
import { statusOf } from '../support/status.ts';
import { waitFor } from '../support/wait-for.ts';

/** Addresses other than the usual one, and the access log, of whole processes. */

let databaseUrl: string;
let folder: string;

beforeAll(async () => {
  databaseUrl = (await createTestDatabase()).url;
  folder = await mkdtemp(join(tmpdir(), 'jf-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('a process on a unix socket serves there, logs its requests, and prints commands that fit', async () => {
  const path = join(folder, 'api.sock');
  const env = { HOST: path, ACCESS_LOG: '1', TRUSTED_PROXIES: 'unix:', METRICS_PORT: '0' };
  const jobferry = await startJobferry({ databaseUrl, role: 'api', env });
  expect(jobferry.baseUrl).toBe(`unix:${path}`);
  const { metricsUrl } = jobferry.logs.find(({ msg }) => msg === 'listening') as { metricsUrl?: string };
  expect(metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(await statusOf(metricsUrl ?? '', '/metrics')).toBe(200);
  const printed = jobferry.output.join('\n');
  expect(printed).toContain(`curl -s --unix-socket ${path} http://localhost/v1/queues -H`);
  expect(printed).not.toContain('/sign-in#');

  const headers = { 'x-forwarded-for': '203.0.113.5', 'x-request-id': 'mine' };
  const answer = await new Promise<{ status: number | undefined; id: unknown }>((resolve, reject) => {
    request({ socketPath: path, path: '/v1/queues?secret', headers, agent: false }, (res) =>
      resolve({ status: res.resume().statusCode, id: res.headers['x-request-id'] }),
    )
      .once('error', reject)
      .end();
  });
  expect(answer).toEqual({ status: 401, id: 'mine' });
  const isLine = (line: LogLine) => line.requestId === 'mine';
  const line = { msg: 'request', method: 'GET', route: '/v1/queues', status: 401, client: '203.0.113.5' };
  expect(await waitFor(() => jobferry.logs.find(isLine), { message: 'a line' })).toMatchObject(line);
  expect(JSON.stringify(jobferry.logs)).not.toContain('secret');

  const link = await runJobferry(['sign-in-link'], { DATABASE_URL: databaseUrl, HOST: path });
  expect(link).toMatchObject({ code: 1, stderr: expect.stringContaining('set PUBLIC_URL') });
  expect(await jobferry.kill()).toEqual({ code: 0, signal: null });
});

it('a process on all IPv6 addresses prints addresses that can be opened', async () => {
  const jobferry = await startJobferry({ databaseUrl, role: 'api', env: { HOST: '::' } });
  expect(jobferry.baseUrl).toMatch(/^http:\/\/\[::\]:\d+$/);
  const address = jobferry.baseUrl.replace('[::]', '[::1]');
  expect(await statusOf(address, '/healthz')).toBe(200);
  expect(await statusOf(address.replace('[::1]', '127.0.0.1'), '/healthz')).toBe(200);
  await waitFor(() => jobferry.output.join('\n').includes(`${address}/sign-in#`), { message: 'a link' });
  // The command has none of the variables of the process that runs.
  const found = await runJobferry(['sign-in-link'], { DATABASE_URL: databaseUrl });
  expect(found.stdout.trim().split('#')).toEqual([`${address}/sign-in`, expect.stringMatching(/^jfl_[\w-]+$/)]);
  await jobferry.kill();
  const { stdout } = await runJobferry(['sign-in-link'], { DATABASE_URL: databaseUrl, HOST: '::', PORT: '8080' });
  expect(stdout).toContain('http://[::1]:8080/sign-in#');
  expect(stdout).toContain('No Jobferry answers at this address: start one');
});

it('LISTEN_WHEN=ready keeps the port closed during the start, and METRICS_PORT open', async () => {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const at = (one: number) => `http://127.0.0.1:${one}`;
  // A process that migrates has this lock, and the start waits for it.
  const other = await connect(databaseUrl);
  await other.query(`select pg_advisory_lock(${0x6a666d})`);
  const env = { LISTEN_WHEN: 'ready', PORT: String(port), METRICS_PORT: String(metricsPort) };
  const starting = startJobferry({ databaseUrl, role: 'api', env });
  await waitFor(async () => (await statusOf(at(metricsPort), '/healthz')) === 200, { message: 'METRICS_PORT' });
  expect(await statusOf(at(metricsPort), '/readyz')).toBe(503);
  await expect(statusOf(at(port), '/healthz')).rejects.toThrow('ECONNREFUSED');
  await other.query('select pg_advisory_unlock_all()');
  const jobferry = await starting;
  expect(jobferry.baseUrl).toBe(at(port));
  expect(await jobferry.kill()).toEqual({ code: 0, signal: null });
});

it('F-47 400 new connections that publish at once are answered, and so are health checks behind them', async () => {
  const { key } = await createAccount(databaseUrl);
  const jobferry = await startJobferry({ databaseUrl, role: 'api' });
  const queue = await createApi(jobferry.baseUrl, key).createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
  const { hostname: host, port } = new URL(jobferry.baseUrl);
  const codes = new Set<number>();
  const send = (method: string, path: string, agent: Agent | false, body?: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const sent = request({ host, port, method, path, agent, headers }, (res) => {
        res.resume().once('end', () => resolve(res.statusCode ?? 0));
      });
      sent.once('error', reject).end(body);
    });
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  const clients = Array.from({ length: 400 }, () => ({
    agent: new Agent({ keepAlive: true, maxSockets: 1 }),
    answers: 0,
  }));
  const publishing = clients.map(async (client) => {
    while (!isOver) {
      codes.add(await send('POST', `/v1/queues/${queue.name}/jobs`, client.agent, '{"payload":{}}'));
      client.answers += 1;
    }
    client.agent.destroy();
  });
  const answered = () => clients.reduce((sum, { answers }) => sum + answers, 0);
  const health = await send('GET', '/healthz', false);
  const beforeHealth = answered();
  // On a machine that is busy with other programs, the time limit of a check may pass once.
  const isReady = async () => (await send('GET', '/readyz', false)) === 200;
  await waitFor(isReady, { message: 'a ready process while all clients publish' });
  await waitFor(() => clients.every(({ answers }) => answers > 0), { message: 'an answer to each client' });
  const beforeEach = answered();
  isOver = true;
  await Promise.all(publishing);
  expect(health).toBe(200);
  expect([...codes].filter((code) => code !== 201 && code !== 503)).toEqual([]);
  // A process that works between any two connections that it accepts has sent many thousands by then.
  expect(Math.max(beforeHealth, beforeEach), 'answers to those that came first').toBeLessThan(400 * 10);
  expect(await jobferry.kill()).toEqual({ code: 0, signal: null });
});
