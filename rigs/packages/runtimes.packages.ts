import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type JobferryClient, unwrap } from '../../packages/client/src/index.ts';
import { apiKey, startServedClient, waitForJob } from '../../test/support/served-client.ts';
import { createProject, type Project } from './fresh-project.ts';
import { startWorker } from './tools/workerd.ts';

/** The webhook handlers in each framework and runtime, with deliveries of a real service. */

let client: JobferryClient;
let baseUrl: string;
let queuesMade = 0;

beforeAll(async () => {
  ({ client, baseUrl } = await startServedClient());
});

/** @param start starts the webhooks `/standard` and `/ack`, and returns their address */
async function expectDeliveries(start: (env: Record<string, string>) => Promise<string>): Promise<void> {
  const create = (mode: 'standard' | 'ack') => {
    const name = `${mode}-${++queuesMade}`;
    return unwrap(client.queues.create({ body: { name, mode, webhookUrl: 'http://127.0.0.1:9/', maxAttempts: 1 } }));
  };
  const queues = { standard: await create('standard'), ack: await create('ack') };
  const url = await start({
    STANDARD_SECRET: queues.standard.signingSecret,
    ACK_SECRET: queues.ack.signingSecret,
    API_URL: baseUrl,
    API_KEY: apiKey,
  });
  for (const [path, { id, name }] of Object.entries(queues)) {
    await unwrap(client.queues.update({ params: { id }, body: { webhookUrl: `${url}/${path}` } }));
    const unsigned = await fetch(`${url}/${path}`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-service-signature': `sha256=${'0'.repeat(64)}` },
    });
    expect(unsigned.status).toBe(401);
    const body = { payload: { to: 'ada' } };
    const published = await unwrap(client.jobs.publish({ params: { queueName: name }, body }));
    const isOver = ({ status }: { status: string }) => status === 'completed' || status === 'dead';
    const job = await waitForJob(client, published.id, isOver);
    const webhookStatusCode = path === 'ack' ? 202 : 200;
    expect(job).toMatchObject({ status: 'completed', history: [{ status: 'success', webhookStatusCode }] });
  }
}

function withNode(project: Project, file: string) {
  return (env: Record<string, string>) => project.serve(process.execPath, [file], env);
}

describe('deliveries arrive in', () => {
  it('Hono', async () => {
    const project = await createProject('packages/client', ['hono', '@hono/node-server'], ['hono.mjs']);
    await expectDeliveries(withNode(project, 'hono.mjs'));
  });

  it('Express 5', async () => {
    const project = await createProject('packages/client', ['express@5'], ['express.mjs']);
    await expectDeliveries(withNode(project, 'express.mjs'));
  });

  it.each(['fastify@5', 'fastify@4'])('%s, whose other routes keep their parser', async (fastify) => {
    const project = await createProject('packages/client', [fastify], ['fastify.mjs']);
    let url = '';
    await expectDeliveries(async (env) => {
      url = await withNode(project, 'fastify.mjs')(env);
      return url;
    });
    const headers = { 'content-type': 'application/json' };
    const send = (path: string, body: object) =>
      fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(await (await send('/other', { to: 'ada' })).json()).toEqual({ parsed: 'ada' });
    expect((await send('/ack', { long: 'x'.repeat(1000) })).status).toBe(413);
  });

  it('a CommonJS program', async () => {
    const project = await createProject('packages/client', [], ['commonjs.cjs']);
    await expectDeliveries(withNode(project, 'commonjs.cjs'));
  });

  it('Next.js, which builds without the secrets', async () => {
    const packages = ['next', 'react', 'react-dom', 'typescript@5.9', '@types/react', '@types/node@20'];
    const project = await createProject('packages/client', packages, ['next']);
    const next = 'node_modules/next/dist/bin/next';
    await project.node([next, 'build', 'next'], { NEXT_TELEMETRY_DISABLED: '1' });
    const serve = [next, 'start', 'next', '-H', '127.0.0.1', '-p', 'PORT'];
    await expectDeliveries((env) => project.serve(process.execPath, serve, { NEXT_TELEMETRY_DISABLED: '1', ...env }));
  });

  it('workerd', async () => {
    const project = await createProject('packages/client', [], ['workerd.mjs']);
    const script = await readFile(join(project.path, 'workerd.mjs'), 'utf8');
    await expectDeliveries((env) => startWorker({ script, resolveDir: project.path }, env));
  });

  it('Bun', async () => {
    const project = await createProject('packages/client', ['bun'], ['bun.mjs']);
    await expectDeliveries((env) => project.serve(join(project.path, 'node_modules/.bin/bun'), ['bun.mjs'], env));
  });
});
