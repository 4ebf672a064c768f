import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
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
  const { stdout } = await runJobferry(['sign-in-link'], { DATABASE_URL: databaseUrl, HOST: '::', PORT: '8080' });
  expect(stdout).toContain('http://[::1]:8080/sign-in#');
});
