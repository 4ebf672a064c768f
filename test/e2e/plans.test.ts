import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import type { Api, ApiAnswer, ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connect, LOCK_WAITERS } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { createGate } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

const MONTHLY_ATTEMPTS = 3;
const HOOK = 'http://127.0.0.1:9/';

let cluster: Cluster;
let receiver: Receiver;

beforeAll(async () => {
  const small = { ...DEFAULT_PLANS.free, queues: null, maxAttempts: 2, maxDefers: 10 };
  const env = {
    PLANS: JSON.stringify({ free: { monthlyAttempts: MONTHLY_ATTEMPTS }, small }),
    TEMPLATES: JSON.stringify({ openai: { mode: 'ack', ackTimeout: 900, maxAttempts: 25, maxDefers: 1000 } }),
  };
  [cluster, receiver] = await Promise.all([startCluster({ workers: 1, env }), startReceiver()]);
});

function createCalls(api: Api, count: number, settings: object): Promise<ApiAnswer<ApiQueue & { error: string }>[]> {
  const create = (_: unknown, index: number) =>
    api.patiently<ApiQueue & { error: string }>('POST', '/v1/queues', {
      name: `q-${index}`,
      webhookUrl: HOOK,
      ...settings,
    });
  return Promise.all(Array.from({ length: count }, create));
}

function statuses(answers: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Expects that the change waits while another transaction changes the account of the queue. */
async function expectToWait(queueId: string, change: () => Promise<unknown>): Promise<void> {
  const other = await connect(cluster.databaseUrl);
  await other.query('begin');
  await other.query('select from account where id = (select account_id from queue where id = $1) for no key update', [
    queueId,
  ]);
  const changed = change();
  await waitFor(async () => (await cluster.query(LOCK_WAITERS)).length > 0, { message: 'a change that waits' });
  await other.query('commit');
  await changed;
}

describe('concurrency summed over an account', () => {
  it('never passes 1000 under racing creates and updates', async () => {
    const api = await cluster.addAccount('pro');
    const sum = async () => {
      const { body } = await api.patiently<ApiQueue[]>('GET', '/v1/queues');
      return body.reduce((total, queue) => total + queue.concurrency, 0);
    };
    const created = await createCalls(api, 20, { concurrency: 100 });
    expect(statuses(created)).toEqual({ 201: 10, 403: 10 });
    for (const { status, body } of created) if (status === 403) expect(body.error).toContain('1100');
    expect(await sum()).toBe(1000);

    const queues = created.filter(({ status }) => status === 201).map(({ body }) => body);
    // Ten make room for 900; ten request 399 more each.
    const updates = await Promise.all(
      [...queues, ...queues].map(({ id }, index) =>
        api.patiently<{ error: string }>('PUT', `/v1/queues/${id}`, { concurrency: index < 10 ? 10 : 499 }),
      ),
    );
    expect(statuses(updates.slice(0, 10))).toEqual({ 200: 10 });
    expect(await sum()).toBeLessThanOrEqual(1000);
    const refused = updates.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(8);
    for (const { status, body } of refused) {
      expect(status).toBe(403);
      expect(Number(/total (\d+)/.exec(body.error)?.[1])).toBeGreaterThan(1000);
    }
  });

  it('waits with an update for any other change of the account, which may use up the sum', async () => {
    const api = await cluster.addAccount('pro');
    const { id } = await api.createQueue({ webhookUrl: HOOK });
    await expectToWait(id, async () => {
      expect((await api.patiently('PUT', `/v1/queues/${id}`, { concurrency: 20 })).status).toBe(200);
    });
  });

  it('counts no deleted queue, and only the account itself', async () => {
    const api = await cluster.addAccount('pro');
    const settings = { concurrency: 500 };
    const [first] = await createCalls(api, 2, settings);
    expect((await api.call('DELETE', `/v1/queues/${first?.body.id}`)).status).toBe(204);
    expect(statuses(await createCalls(api, 1, settings))).toEqual({ 201: 1 });
    const another = await cluster.addAccount('pro');
    expect(statuses(await createCalls(another, 2, settings))).toEqual({ 201: 2 });
  });
});

describe('a plan whose ceilings are below the defaults', () => {
  it('gives a new queue its ceilings, also instead of values of a template', async () => {
    const api = await cluster.addAccount('small');
    const [plain] = await createCalls(api, 1, {});
    expect(plain).toMatchObject({ status: 201, body: { maxAttempts: 2, maxDefers: 10 } });
    const templated = await api.patiently('POST', '/v1/queues', {
      name: 'templated',
      webhookUrl: HOOK,
      template: 'openai',
    });
    expect(templated).toMatchObject({ status: 201, body: { maxAttempts: 2, maxDefers: 10, ackTimeout: 900 } });
    // GraphQL says so before there is a queue.
    const asked = { query: '{ queueTemplates { name mode maxAttempts maxDefers ackTimeout } }' };
    const own = { maxAttempts: 2, maxDefers: 10 };
    expect((await api.call('POST', '/graphql', asked)).body).toEqual({
      data: {
        queueTemplates: [
          { name: null, mode: 'STANDARD', ackTimeout: 300, ...own },
          { name: 'openai', mode: 'ACK', ackTimeout: 900, ...own },
        ],
      },
    });
  });

  it.each([
    ['maxAttempts', 3],
    ['maxDefers', 50],
  ])('refuses %s at its default when a client asks for it', async (field, value) => {
    const api = await cluster.addAccount('small');
    expect(statuses(await createCalls(api, 1, { [field]: value }))).toEqual({ 403: 1 });
  });
});

describe('the free plan', () => {
  it('lets 5 of 20 racing creates have a queue', async () => {
    const api = await cluster.addAccount('free');
    const created = await createCalls(api, 20, {});
    expect(statuses(created)).toEqual({ 201: 5, 403: 15 });
    const freed = created.find(({ status }) => status === 201);
    expect((await api.call('DELETE', `/v1/queues/${freed?.body.id}`)).status).toBe(204);
    await api.createQueue({ webhookUrl: HOOK });
    await expect(api.createQueue({ webhookUrl: HOOK })).rejects.toThrow('403');
  });

  it('waits with a create for any other change of the account, which may take its last place', async () => {
    const api = await cluster.addAccount('free');
    const { id } = await api.createQueue({ webhookUrl: HOOK });
    await expectToWait(id, () => api.createQueue({ webhookUrl: HOOK }));
  });

  it.each([
    ['maxAttempts', 11],
    ['maxDefers', 101],
  ])('refuses %s above its ceiling', async (field, value) => {
    const api = await cluster.addAccount('free');
    expect(statuses(await createCalls(api, 1, { [field]: value }))).toEqual({ 403: 1 });
    const queue = await api.createQueue({ webhookUrl: HOOK });
    const update = await api.patiently<{ error: string }>('PUT', `/v1/queues/${queue.id}`, { [field]: value });
    expect(update.status).toBe(403);
    expect(update.body.error).toContain(field);
  });

  it('answers 402 when the month is used up, and still delivers what it accepted', async () => {
    const api = await cluster.addAccount('free');
    const gate = createGate();
    receiver.respondWith(async () => {
      await gate.opened;
      return { status: 500 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1, concurrency: 1 });
    const accepted = [];
    for (let i = 0; i < MONTHLY_ATTEMPTS + 2; i += 1) {
      accepted.push(await api.publish(queue.name, { payload: {}, idempotencyKey: `key-${i}` }));
    }
    // All were accepted before the first attempt ended.
    gate.open();
    for (const job of accepted) await api.waitForStatus(job.id, 'dead');
    expect(receiver.requests).toHaveLength(accepted.length);

    const { jobs: letters } = await api.listDeadLetters(queue.id);
    expect(letters).toHaveLength(accepted.length);
    const path = `/v1/queues/${queue.id}/dlq`;
    const refusals = [
      await api.patiently('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} }),
      await api.patiently('POST', `${path}/${letters[0]?.id}/replay`),
      await api.patiently('POST', `${path}/replay`, { all: true }),
      await api.patiently('POST', `${path}/replay`, { jobIds: [letters[1]?.id] }),
    ];
    for (const { status, body } of refusals) {
      expect(status).toBe(402);
      expect(body).toEqual({ error: expect.stringContaining(String(MONTHLY_ATTEMPTS)) });
    }
    const again = { payload: {}, idempotencyKey: 'key-0' };
    const hit = await api.patiently('POST', `/v1/queues/${queue.name}/jobs`, again);
    expect(hit).toMatchObject({ status: 200, body: { id: accepted[0]?.id, status: 'dead' } });
    expect((await api.listDeadLetters(queue.id, '?includeReplayed=false')).total).toBe(accepted.length);

    // Another account's month, and this account's next one.
    expect(statuses(await createCalls(await cluster.addAccount('free'), 1, {}))).toEqual({ 201: 1 });
    await cluster.query(
      `update usage set month = '2020-01' where account_id = (select account_id from queue where id = $1)`,
      [queue.id],
    );
    expect((await api.patiently('POST', `${path}/${letters[0]?.id}/replay`)).status).toBe(201);
  });
});
