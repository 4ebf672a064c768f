import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unwrap } from '../../../packages/client/src/index.ts';
import { builtClient } from '../../../test/support/built.ts';
import { apiKey, startServedClient, waitForJob } from '../../../test/support/served-client.ts';
import { startWorker } from './workerd.ts';

/** The built client and webhook helper inside of Cloudflare's runtime, which forbids much that Node allows. */

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

it('takes deliveries, reports, and publishes in a Worker', async () => {
  const { client, baseUrl } = await startServedClient();
  const create = (name: string, mode: 'standard' | 'ack') =>
    unwrap(client.queues.create({ body: { name, mode, webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 0 } }));
  const [standard, ack] = [await create('standard', 'standard'), await create('ack', 'ack')];
  const alias = {
    '@jobferry/client/webhook': join(builtClient(), 'webhook/index.js'),
    '@jobferry/client': join(builtClient(), 'index.js'),
  };
  const url = await startWorker(
    { script: WORKER, resolveDir: builtClient(), alias },
    {
      STANDARD_SECRET: standard.signingSecret,
      ACK_SECRET: ack.signingSecret,
      API_URL: baseUrl,
      API_KEY: apiKey,
    },
  );
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
