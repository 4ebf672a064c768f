import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, expect, it } from 'vitest';
import { unwrap } from '../../src/client/index.ts';
import { apiKey, startServedClient, waitForJob } from './served-client.ts';

/** The built client and webhook helper inside of Cloudflare's runtime, which forbids much that Node allows. */

/** Path of the program; the package has no types. */
const { default: workerd } = createRequire(import.meta.url)('workerd') as { default: string };
const DIST = fileURLToPath(new URL('../../packages/client/dist/esm/client', import.meta.url));

// Both handlers are made while the Worker loads, as most people write it.
const WORKER = `
  import { env } from 'cloudflare:workers';
  import { createClient, rawJson, unwrap } from '@jobferry/client';
  import { Backpressure, fetchHandler } from '@jobferry/client/webhook';

  const api = { baseUrl: () => env.API_URL, apiKey: () => env.API_KEY };
  let calls = 0;
  const standard = fetchHandler({ secret: () => env.STANDARD_SECRET }, ({ job }) => {
    calls += 1;
    if (calls === 1) throw new Backpressure(0.1);
    if (!job.raw.includes('9007199254740993')) throw new Error('the number was rounded');
  });
  const ack = fetchHandler({ secret: () => env.ACK_SECRET, mode: 'ack', ...api, ackTimeout: 60 }, async ({ signal }) => {
    signal.throwIfAborted();
    const client = createClient({ baseUrl: env.API_URL, apiKey: env.API_KEY });
    const body = { payload: { n: rawJson('9007199254740993') }, idempotencyKey: 'from-the-worker' };
    await unwrap(client.jobs.publish({ params: { queueName: 'standard' }, body }));
  });
  export default {
    fetch: (request, _env, ctx) => (new URL(request.url).pathname === '/ack' ? ack : standard)(request, ctx),
  };`;

const text = (value: string) => JSON.stringify(value);

function configuration(variables: Record<string, string>): string {
  const bindings = Object.entries(variables).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-04-01",
  bindings = [${bindings.join(', ')}],
);
`;
}

let folder: string | null = null;
let runtime: ChildProcess | null = null;

afterAll(async () => {
  runtime?.kill('SIGKILL');
  if (folder !== null) await rm(folder, { recursive: true });
});

/** Answers the address of a Worker with this script. */
async function startWorker(script: string, variables: Record<string, string>): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-worker-'));
  await build({
    stdin: { contents: script, resolveDir: DIST },
    outfile: join(folder, 'worker.js'),
    ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2023', external: ['cloudflare:workers'] },
    alias: {
      '@jobferry/client/webhook': join(DIST, 'webhook/index.js'),
      '@jobferry/client': join(DIST, 'index.js'),
    },
  });
  await writeFile(join(folder, 'config.capnp'), configuration(variables));
  // Descriptor 3 tells the port.
  const child = spawn(workerd, ['serve', '--control-fd=3', join(folder, 'config.capnp')], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  runtime = child;
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`workerd ended with ${code}`)));
    createInterface({ input: child.stdio[3] as Readable }).on('line', (line) => {
      const { event, port } = JSON.parse(line) as { event: string; port?: number };
      if (event === 'listen') resolve(`http://127.0.0.1:${port}`);
    });
  });
}

it('takes deliveries, reports, and publishes in a Worker', async () => {
  const { client, baseUrl } = await startServedClient();
  const create = (name: string, mode: 'standard' | 'ack') =>
    unwrap(client.queues.create({ body: { name, mode, webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 0 } }));
  const [standard, ack] = [await create('standard', 'standard'), await create('ack', 'ack')];
  const url = await startWorker(WORKER, {
    ...{ STANDARD_SECRET: standard.signingSecret, ACK_SECRET: ack.signingSecret },
    ...{ API_URL: baseUrl, API_KEY: apiKey },
  });
  for (const { id, name } of [standard, ack]) {
    await unwrap(client.queues.update({ params: { id }, body: { webhookUrl: `${url}/${name}` } }));
  }
  const published = await unwrap(client.jobs.publish({ params: { queueName: 'ack' }, body: { payload: {} } }));
  const acked = await waitForJob(client, published.id, ({ status }) => status === 'completed');
  expect(acked.history).toMatchObject([{ status: 'success', webhookStatusCode: 202 }]);

  const { jobs } = await unwrap(client.jobs.list({ params: { id: standard.id } }));
  const delivered = await waitForJob(client, jobs[0]?.id ?? '', ({ status }) => status === 'completed');
  expect(delivered).toMatchObject({ idempotencyKey: 'from-the-worker', attempts: 1, deferCount: 1 });
});
