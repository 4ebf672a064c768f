import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { startBalancer } from '../support/balancer.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, type JobferryOptions, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { openServices } from '../support/services.ts';
import { statusOf } from '../support/status.ts';
import { waitFor } from '../support/wait-for.ts';

/** Processes are replaced one after the other, behind a load balancer that does not look at their health. */

const folder = await mkdtemp(join(tmpdir(), 'jf-'));
afterAll(() => rm(folder, { recursive: true }));

/**
 * The time between two requests of a client, so that the processes have a steady load and not the most that is
 * possible.
 */
const PACE_MS = 10;
const CLIENTS = 6;

interface Answer {
  status: number | undefined;
  id: string | undefined;
}

/** Publishes one job after the other on a connection of its own, and repeats nothing. */
async function publishUntil(isOver: () => boolean, socketPath: string, path: string, key: string): Promise<Answer[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answers: Answer[] = [];
  while (!isOver()) {
    const answer = await new Promise<Answer>((resolve, reject) => {
      const req = request({ socketPath, agent, method: 'POST', path, headers }, (res) => {
        let text = '';
        res.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        res.once('end', () => resolve({ status: res.statusCode, id: /"id":"(\w+)"/.exec(text)?.[1] }));
      });
      req.once('error', reject).end('{"payload":{}}');
    });
    answers.push(answer);
    await sleep(PACE_MS);
  }
  agent.destroy();
  return answers;
}

it('a rolling restart of two APIs and two workers under load loses no request and no job', async () => {
  const { url: databaseUrl } = await createTestDatabase();
  const { key } = await createAccount(databaseUrl);
  const sockets = ['a', 'b'].map((name) => join(folder, `${name}.sock`));
  // Longer than nginx avoids a process that it could not connect to,
  // and than a busy machine takes to see the process unready.
  const env = { SHUTDOWN_DELAY_SECONDS: '3' };
  const settings: JobferryOptions[] = [
    ...sockets.map((HOST) => ({ databaseUrl, role: 'api' as const, env: { ...env, HOST } })),
    ...sockets.map(() => ({ databaseUrl, role: 'worker' as const, env })),
  ];
  const processes: Jobferry[] = await Promise.all(settings.map(startJobferry));
  const receiver = await openReceiver({ delayMs: 20 });
  const { db } = openServices(databaseUrl);
  const balancer = await startBalancer(sockets);
  const [{ baseUrl = '' } = {}] = processes;
  expect(baseUrl).toBe(`unix:${sockets[0]}`);

  const queue = await createQueue(balancer.socketPath, key, receiver.url);
  let isOver = false;
  const path = `/v1/queues/${queue}/jobs`;
  const clients = Array.from({ length: CLIENTS }, () => publishUntil(() => isOver, balancer.socketPath, path, key));

  for (const pair of [
    [0, 2],
    [1, 3],
  ]) {
    await Promise.all(
      pair.map(async (n) => {
        const old = processes[n] as Jobferry;
        const stopped = old.kill('SIGTERM');
        // Not ready at once, and yet serving: that is how a load balancer with health checks learns of it in time.
        await waitFor(async () => (await statusOf(old.baseUrl, '/readyz')) === 503, { message: 'not ready' });
        expect(await statusOf(old.baseUrl, '/healthz')).toBe(200);
        expect(await stopped).toEqual({ code: 0, signal: null });
        processes[n] = await startJobferry(settings[n]);
      }),
    );
  }
  isOver = true;
  const answers = (await Promise.all(clients)).flat();

  expect(balancer.failed).toEqual([]);
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  expect(answers.length).toBeGreaterThan(200);
  const open = () => db.query<{ n: number }>(`select count(*)::int as n from job where status <> 'completed'`);
  await waitFor(async () => (await open())[0]?.n === 0, { message: 'all jobs completed' });
  const received = receiver.requests.map((delivery) => delivery.json().id).sort();
  expect(received).toEqual(answers.map(({ id }) => id).sort());
});

async function createQueue(socketPath: string, key: string, webhookUrl: string): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const status = await new Promise((resolve, reject) => {
    request({ socketPath, agent: false, method: 'POST', path: '/v1/queues', headers }, (res) =>
      resolve(res.resume().statusCode),
    )
      .once('error', reject)
      .end(JSON.stringify({ name: 'mails', webhookUrl, concurrency: 100 }));
  });
  expect(status).toBe(201);
  return 'mails';
}
