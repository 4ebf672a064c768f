import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastingPort } from '../support/lasting-port.ts';
import { openReceiver, startServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** R7: no proxy but the one that WEBHOOK_PROXY_URL names. */

let listener: Server;
let url: string;
/** The first bytes of each connection that came in. */
const received: string[] = [];

beforeAll(async () => {
  listener = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (data) => {
      received.push(data.toString('latin1'));
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  url = `http://user:secret@127.0.0.1:${(listener.address() as AddressInfo).port}`;
});

afterAll(() => {
  listener.close();
});

interface Ready {
  checks: { egress: string };
}

describe('a proxy', () => {
  it('a proxy in the usual variables is not used', async () => {
    const names = ['http_proxy', 'https_proxy', 'all_proxy', 'npm_config_proxy', 'npm_config_https_proxy'];
    const env = Object.fromEntries(names.flatMap((name) => [name, name.toUpperCase()]).map((name) => [name, url]));
    // Newer versions of Node need this to heed them by themselves.
    const { api } = await startServiceProcess({ ...env, NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' });
    const receiver = await openReceiver();
    for (const webhookUrl of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
      const queue = await api.createQueue({ webhookUrl });
      await api.waitForStatus((await api.publish(queue.name)).id, 'completed');
    }
    expect(receiver.requests).toHaveLength(2);
    expect(received).toEqual([]);
  });

  it('a proxy that the operator names is used for everything; the warning lacks its password', async () => {
    const { api, jobferry } = await startServiceProcess({ WEBHOOK_PROXY_URL: url });
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    const job = await api.waitForStatus((await api.publish(queue.name)).id, 'dead');
    expect(job.history).toMatchObject([{ status: 'failed', error: 'network_error', webhookStatusCode: null }]);
    expect(receiver.connections).toBe(0);
    expect(received).toEqual([expect.stringMatching(/^CONNECT 127\.0\.0\.1:\d+ HTTP\/1\.1\r\n/)]);
    const warnings = jobferry.logs.filter(({ level }) => level === 'warn');
    expect(warnings).toContainEqual(
      expect.objectContaining({ proxy: new URL(url).host, msg: expect.stringContaining('itself must refuse') }),
    );
    expect(JSON.stringify(jobferry.logs)).not.toContain('secret');
  });

  it('a proxy that is gone uses up no attempt, is named, and does not make the process unready', async () => {
    const port = await lastingPort();
    const { api, jobferry } = await startServiceProcess({ WEBHOOK_PROXY_URL: `http://127.0.0.1:${port}` });
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    const { id } = await api.publish(queue.name);
    await waitFor(async () => (await api.getJob(id)).lastError === 'proxy_unreachable');
    expect(await api.getJob(id)).toMatchObject({ status: 'pending', attempts: 0, history: [] });
    // The answer is kept for a second.
    const ready = () => fetch(`${jobferry.baseUrl}/readyz`);
    await waitFor(async () => ((await (await ready()).json()) as Ready).checks.egress !== 'ok');
    expect((await ready()).status).toBe(200);
    expect(await (await ready()).json()).toMatchObject({
      checks: { egress: expect.stringMatching(/^proxy_unreachable for \d+ s$/) },
    });

    const open = new Set<Socket>();
    const proxy = createHttpServer().on('connect', (req: IncomingMessage, client: Socket) => {
      const upstream = connect(Number(req.url?.split(':').at(-1)), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      for (const socket of [client, upstream]) open.add(socket.on('error', () => socket.destroy()));
    });
    await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
    expect(await api.waitForStatus(id, 'completed')).toMatchObject({ attempts: 1, history: [{ attempt: 1 }] });
    await waitFor(async () => ((await (await ready()).json()) as Ready).checks.egress === 'ok');
    // Killed while it works: tunnels that are open are cut, and no new one comes about.
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
    const next = await api.publish(queue.name);
    await waitFor(async () => (await api.getJob(next.id)).lastError === 'proxy_unreachable');
    expect(await api.getJob(next.id)).toMatchObject({ status: 'pending', attempts: 0, history: [] });
  });
});
