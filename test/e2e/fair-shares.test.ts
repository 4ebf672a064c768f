import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { type DnsServer, startDnsServer } from '../support/dns-server.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';

/**
 * The resources that accounts share in a worker: delivery slots, payload bytes and name look-ups (I-40, F-37). Beside
 * an account that takes all it can get, each job of another one has to come through while nothing of the first moves.
 */
const CAPACITY = 40;
let greedy: Api;
let quiet: Api;
let names: DnsServer;

beforeAll(async () => {
  names = await startDnsServer(({ name }) => (name.endsWith('.slow.test') ? 'drop' : ['127.0.0.1']));
  const { api, jobferry, databaseUrl } = await startService({
    WORKER_CAPACITY: String(CAPACITY),
    WEBHOOK_DNS_SERVERS: names.address,
    // No hanging delivery ends by itself, however busy the machine is.
    WEBHOOK_TIMEOUT_SECONDS: '120',
  });
  greedy = api;
  quiet = createApi(jobferry.baseUrl, (await createAccount(databaseUrl)).key);
});

afterAll(() => names.close());

const gates: { open(): void }[] = [];

// Deliveries that one test left hanging must not fail the next.
afterEach(() => {
  for (const gate of gates.splice(0)) gate.open();
});

async function hangingReceiver() {
  const gate = createGate();
  gates.push(gate);
  const receiver = await openReceiver(async () => {
    await gate.opened;
    return {};
  });
  return { receiver, gate };
}

/** One after the other, so that each has to come through. */
async function deliversAll(api: Api, queueName: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await api.waitForStatus((await api.publish(queueName)).id, 'completed');
}

describe('an account whose receivers hang', () => {
  it('leaves delivery slots to others, and to other queues of its own', async () => {
    const { receiver, gate } = await hangingReceiver();
    const healthy = await openReceiver();
    const create = () => greedy.createQueue({ webhookUrl: receiver.url, concurrency: 100 });
    const stuck = await Promise.all([create(), create()]);
    const ids: string[] = [];
    for (const { name } of stuck) {
      ids.push(...(await Promise.all(Array.from({ length: 60 }, () => greedy.publish(name)))).map(({ id }) => id));
    }
    // While no other account has work, it has most of the capacity.
    await receiver.waitFor(CAPACITY * 0.6);
    const own = await greedy.createQueue({ webhookUrl: healthy.url, concurrency: 5 });
    const flowing = await quiet.createQueue({ webhookUrl: healthy.url, concurrency: 5 });
    await deliversAll(quiet, flowing.name, 10);
    await deliversAll(greedy, own.name, 3);
    expect(receiver.inFlight).toBeLessThan(CAPACITY);
    expect(receiver.requests).toHaveLength(receiver.inFlight);
    gate.open();
    for (const id of ids) await greedy.waitForStatus(id, 'completed');
  });

  it('leaves payload bytes to others, and to other queues of its own', async () => {
    const { receiver, gate } = await hangingReceiver();
    const healthy = await openReceiver();
    const stuck = await greedy.createQueue({ webhookUrl: receiver.url, concurrency: 100 });
    const payload = { text: 'x'.repeat(1_040_000) };
    for (let n = 0; n < 36; n += 4) {
      await Promise.all(Array.from({ length: 4 }, () => greedy.publish(stuck.name, { payload })));
    }
    await receiver.waitFor(8);
    const own = await greedy.createQueue({ webhookUrl: healthy.url, concurrency: 5 });
    const flowing = await quiet.createQueue({ webhookUrl: healthy.url, concurrency: 5 });
    await deliversAll(quiet, flowing.name, 10);
    await deliversAll(greedy, own.name, 3);
    // A large one, too.
    await quiet.waitForStatus((await quiet.publish(flowing.name, { payload })).id, 'completed');
    expect(receiver.inFlight).toBeLessThan(20);
    gate.open();
    await receiver.waitFor(36);
  });
});

describe('an account whose names are never answered', () => {
  it('does not delay the look-ups of other accounts', async () => {
    const healthy = await openReceiver({ headers: { connection: 'close' } });
    const stuck = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        greedy.createQueue({ webhookUrl: `http://h${n}.slow.test/`, concurrency: 10 }),
      ),
    );
    await Promise.all(stuck.map(({ name }) => greedy.publish(name)));
    const silent = () => names.queries.filter(({ name }) => name.endsWith('.slow.test')).length;
    await expect.poll(silent).toBeGreaterThan(4);
    const flowing = await quiet.createQueue({ webhookUrl: `http://hooks.fast.test:${healthy.port}/`, concurrency: 5 });
    for (let n = 0; n < 10; n += 1) {
      const job = await quiet.waitForStatus((await quiet.publish(flowing.name)).id, 'completed');
      expect(job.attempts).toBe(1);
    }
    // Each on a connection of its own, and each queried again (S56).
    expect(names.queries.filter(({ name }) => name === 'hooks.fast.test').length).toBeGreaterThanOrEqual(10);
  });
});
