import { expect, it } from 'vitest';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { publishMany, startCluster, startProcesses } from '../support/cluster.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** API processes claim jobs for workers when they store them, and hand them over (docs/decisions/0063). */

/** Publishes until a publish has claimed: the worker is known then. */
async function untilHandedOver(publish: () => Promise<unknown>): Promise<void> {
  const before = counts.claimedAtPublish;
  await waitFor(async () => {
    await publish();
    return counts.claimedAtPublish > before;
  });
}

it('jobs are handed over, retried and acked like any others, and never more than the concurrency at once', async () => {
  const cluster = await startCluster({ workers: 2 });
  let open = 0;
  let most = 0;
  const receiver = await openReceiver(async (request) => {
    most = Math.max(most, ++open);
    await new Promise(setImmediate);
    open -= 1;
    return {
      status: request.json().attempt === 1 && JSON.stringify(request.json().payload).includes('true') ? 500 : 200,
    };
  });
  const settings = { webhookUrl: receiver.url, concurrency: 3, backoffType: 'fixed', backoffDelay: 0 };
  const queue = await cluster.api.createQueue(settings);
  await untilHandedOver(() => cluster.api.publish(queue.name));
  const ids = await publishMany(cluster.api, queue.name, 200, (n) => ({ payload: { n, fails: n % 10 === 0 } }));
  for (const id of ids) await cluster.api.waitForStatus(id, 'completed');
  expect(most).toBeLessThanOrEqual(3);
  const attempts = receiver.requests.map((request) => request.json()).map(({ id, attempt }) => `${id} ${attempt}`);
  expect(new Set(attempts).size).toBe(attempts.length);
});

it('a worker that stops under load leaves no job behind, and none is delivered twice', async () => {
  const cluster = await startCluster({ workers: 2 });
  const receiver = await openReceiver();
  const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, concurrency: 50 });
  await untilHandedOver(() => cluster.api.publish(queue.name));
  const publishing = publishMany(cluster.api, queue.name, 1500);
  await waitFor(() => receiver.requests.length > 100);
  await cluster.workers[0]?.stop();
  await cluster.addWorker();
  const ids = await publishing;
  for (const id of ids) await cluster.api.waitForStatus(id, 'completed');
  const arrived = receiver.requests.map((request) => request.json().id);
  expect(arrived.length).toBe(new Set(arrived).size);
  const late = await cluster.query('select id from job where attempts > 1 or interruptions > 0');
  expect(late).toEqual([]);
});

it('jobs that a killed API has claimed, and jobs that were handed over to a killed worker, are delivered', async () => {
  const cluster = await startProcesses({ apis: 2, workers: 2 });
  const receiver = await openReceiver();
  const [first, second] = cluster.apis;
  const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, concurrency: 100 });
  if (first === undefined || second === undefined) throw new Error('there are two APIs');
  const accepted: string[] = [];
  let isOver = false;
  const publisher = async (api: typeof first) => {
    while (!isOver) {
      const published = await api.publish(queue.name).catch(() => null);
      if (published !== null) accepted.push(published.id);
      else if (api === first) return;
    }
  };
  // A request to the killed API may wait for its answer for long.
  for (let n = 0; n < 3; n += 1) void publisher(first);
  const publishers = Array.from({ length: 3 }, () => publisher(second));
  // By then the workers are known.
  await waitFor(() => receiver.requests.length > 1500, { timeoutMs: 60_000 });
  await cluster.apiProcesses[0]?.kill('SIGKILL');
  const atKill = receiver.requests.length;
  await waitFor(() => receiver.requests.length > atKill + 300);
  await cluster.workers[0]?.kill('SIGKILL');
  const afterKill = receiver.requests.length;
  await waitFor(() => receiver.requests.length > afterKill + 300);
  isOver = true;
  await Promise.all(publishers);
  await waitFor(async () => {
    const [{ n } = { n: 1 }] = await cluster.query<{ n: number }>(
      `select count(*)::integer as n from job where status <> 'completed'`,
    );
    return n === 0;
  });
  const arrived = new Set(receiver.requests.map((request) => request.json().id));
  expect(accepted.filter((id) => !arrived.has(id))).toEqual([]);
});
