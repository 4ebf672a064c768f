import { execFile } from 'node:child_process';
import { chown, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { type Cluster, openCluster, SUPERUSER, startServer, stopServer } from '../../src/db/embedded/cluster.ts';
import { createApi } from '../../test/support/api.ts';
import { startJobferry } from '../../test/support/process.ts';
import { waitFor } from '../../test/support/wait-for.ts';

const quiet = { info: () => undefined, warn: () => undefined };
const KEY = 'key-of-the-bootstrap-account';

const cleanUp: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const clean of cleanUp.reverse()) await clean().catch(() => undefined);
});

/** A copy of a stopped server that takes over: the next timeline of the same system. */
async function copyOf(cluster: Cluster, folder: string): Promise<Cluster> {
  await promisify(execFile)('cp', ['-a', `${cluster.folder}/.`, folder]);
  const { uid, gid, mode } = await stat(cluster.folder);
  const signal = join(folder, 'standby.signal');
  await writeFile(signal, '');
  for (const path of [folder, signal]) await chown(path, uid, gid);
  await promisify(execFile)('chmod', [(mode & 0o777).toString(8), folder]);
  return { ...cluster, folder };
}

async function promote(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('select pg_promote()');
  await client.end();
}

it('a database that went back to an older timeline is refused until the process is started again', {
  timeout: 90_000,
}, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-test-'));
  cleanUp.push(() => rm(dataDir, { recursive: true, force: true }));
  const first = await openCluster(dataDir, quiet);
  const port = await startServer(first);
  cleanUp.push(() => stopServer(first));
  const databaseUrl = `postgres://${SUPERUSER}:${first.password}@127.0.0.1:${port}/postgres`;
  const env = { BOOTSTRAP_API_KEY: KEY };
  const jobferry = await startJobferry({ databaseUrl, env });
  const api = createApi(jobferry.baseUrl, KEY);
  const readiness = async () => {
    const response = await fetch(`${jobferry.baseUrl}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
  const publish = (to: typeof api) => to.call('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} });
  expect((await publish(api)).status).toBe(201);

  await stopServer(first);
  const copy = await mkdtemp(join(first.folder, '..', 'copy-'));
  cleanUp.push(() => rm(copy, { recursive: true, force: true }));
  const second = await copyOf(first, copy);
  await startServer(second, port);
  cleanUp.push(() => stopServer(second));
  // A connection that was opened now would survive the promotion, and would hide the new timeline.
  const standby = 'the server is a standby';
  await waitFor(async () => (await readiness()).text.includes(standby), { timeoutMs: 30_000, message: 'the standby' });
  await promote(databaseUrl);
  await waitFor(async () => (await readiness()).status === 200, { timeoutMs: 30_000, message: 'the failover' });
  expect((await publish(api)).status).toBe(201);

  await stopServer(second);
  await startServer(first, port);
  const problem = 'the database went back from timeline 2 to 1';
  await waitFor(async () => (await readiness()).text.includes(problem), { timeoutMs: 30_000, message: 'the refusal' });
  expect((await readiness()).status).toBe(503);
  expect((await publish(api)).status).toBe(503);
  const said = jobferry.logs.filter((line) => line.level === 'error' && line.msg.includes(problem));
  expect(said).toHaveLength(1);

  await jobferry.kill('SIGTERM');
  const again = await startJobferry({ databaseUrl, env });
  expect((await publish(createApi(again.baseUrl, KEY))).status).toBe(201);
  await again.kill('SIGKILL');
});
