import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createApi } from '../../test/support/api.ts';
import { builtService } from '../../test/support/built.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { lastingPort } from '../../test/support/lasting-port.ts';
import { startJobferry } from '../../test/support/process.ts';
import { openReceiver } from '../../test/support/service.ts';
import { startTcpRelay } from '../../test/support/tcp-relay.ts';
import { report } from './report.ts';

/** A tunnel whose client, service and connection break by the hundred (docs/decisions/0051). */

const KEY = 'key-of-the-bootstrap-account';
const BREAKS = 200;
/** The time between two breaks; most clients reconnect within it. */
const PAUSE_MS = { least: 100, most: 900 };

it('a tunnel loses nothing: two hundred kills of client and service, suspensions and cuts', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const port = await lastingPort();
  // As it is without a setting.
  const timeout = { WEBHOOK_TIMEOUT_SECONDS: '15' };
  const start = () => startJobferry({ databaseUrl, env: { PORT: String(port), BOOTSTRAP_API_KEY: KEY, ...timeout } });
  let service = await start();
  onTestFinished(async () => void (await service.kill('SIGKILL')));
  const relay = await startTcpRelay({ host: '127.0.0.1', port });
  const webhook = await openReceiver();
  const local = await openReceiver({ delayMs: 15 });
  const api = createApi(`http://127.0.0.1:${port}`, KEY);
  const queue = await api.createQueue({ webhookUrl: webhook.url, maxAttempts: 1, concurrency: 20 });
  let client = startClient(relay.port, queue.name, local.url);
  onTestFinished(() => void client.kill('SIGKILL'));

  const published: string[] = [];
  let isOver = false;
  const publishing = (async () => {
    while (!isOver) {
      const { status, body } = await api
        .call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} })
        .catch(() => ({ status: 0, body: { id: '' } }));
      if (status === 201) published.push(body.id);
      await sleep(5);
    }
  })();
  const breaks = { 'client killed': 0, 'service killed': 0, 'client suspended': 0, 'connection cut': 0 };
  for (let n = 0; n < BREAKS; n += 1) {
    await sleep(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least));
    const kind = (['connection cut', 'client killed', 'client suspended', 'service killed'] as const)[n % 4];
    breaks[kind ?? 'connection cut'] += 1;
    if (kind === 'connection cut') {
      await relay.cut();
      await relay.heal();
    } else if (kind === 'client killed') {
      client.kill('SIGKILL');
      client = startClient(relay.port, queue.name, local.url);
    } else if (kind === 'client suspended') {
      const suspended = client;
      suspended.kill('SIGSTOP');
      // One in five for longer than a silent tunnel lives.
      await sleep(n % 20 === 2 ? 13_000 : 500);
      suspended.kill('SIGCONT');
    } else {
      await service.kill('SIGKILL');
      service = await start();
    }
  }
  isOver = true;
  await publishing;
  for (const id of published) await api.waitForStatus(id, 'completed', 60_000);
  const seen = new Set([...local.requests, ...webhook.requests].map((request) => request.json().id));
  const lost = published.filter((id) => !seen.has(id));
  const deliveries = { local: local.requests.length, webhook: webhook.requests.length };
  await report('10 tunnels', { breaks, published: published.length, lost: lost.length, deliveries });
  expect(lost).toEqual([]);
  // While a client is suspended for long, all that waits goes to the webhook: a third of the time.
  expect(local.requests.length).toBeGreaterThan(published.length / 4);
}, 900_000);

function startClient(port: number, queue: string, forward: string): ChildProcess {
  const env = { PATH: process.env.PATH, JOBFERRY_URL: `http://127.0.0.1:${port}`, JOBFERRY_API_KEY: KEY };
  return spawn(process.execPath, [builtService(), 'listen', queue, '--forward', forward, '--json'], {
    stdio: 'ignore',
    env,
  });
}
