import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { at, CLOCK_SLACK_MS, openReceiver } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** Changes of jobs and keys by GraphQL, with real workers and receivers. */
let cluster: Cluster;
let api: Api;
let op: TestServices;
let account: Account;

beforeAll(async () => {
  cluster = await startCluster({ apis: 2, workers: 2 });
  api = cluster.api;
  op = openServices(cluster.databaseUrl);
  account = await op.firstAccount();
});

/** A queue in ack mode whose receiver confirms everything. */
async function ackQueue(settings: object = {}) {
  const receiver = await openReceiver({ status: 202 });
  return { receiver, queue: await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', ...settings }) };
}

describe.concurrent('a cancelled job', () => {
  it('a cancelled job that awaited its report frees its slot for the next one', async () => {
    const { receiver, queue } = await ackQueue({ concurrency: 1 });
    const first = await api.publish(queue.name);
    await api.waitForStatus(first.id, 'awaiting_ack');
    const second = await api.publish(queue.name);
    await op.jobs.cancel(account, first.id);
    await api.waitForStatus(second.id, 'awaiting_ack');
    expect(receiver.requests).toHaveLength(2);
    expect((await api.call('POST', `/v1/jobs/${first.id}/ack`)).status).toBe(400);
  });
});

describe.concurrent('a job that is to run now', () => {
  it('is delivered, by whichever process', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const { id } = await api.publish(queue.name, { payload: {}, delay: 3600 });
    await op.jobs.runNow(account, id);
    await api.waitForStatus(id, 'completed');
    expect(receiver.requests).toHaveLength(1);
  });
});

describe.concurrent('an extended ack deadline', () => {
  it('replaces the old one', async () => {
    const { queue } = await ackQueue({ ackTimeout: 1, ackTimeoutAction: 'dead' });
    // On a busy machine, the timeout of a job may come before its extension.
    const { id, deadline } = await waitFor(async () => {
      const published = await api.publish(queue.name);
      await api.waitForStatus(published.id, 'awaiting_ack');
      return { id: published.id, deadline: await op.jobs.extendAck(account, published.id, 2, 'half way') };
    });
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ lastError: 'ack_timeout' });
    expect(at(job.history[0]?.timestamp)).toBeGreaterThanOrEqual(deadline.getTime() - CLOCK_SLACK_MS);
  });

  it('is taken also right after the webhook has confirmed', async () => {
    const extensions = new Map<string, Promise<Date | Error>>();
    const receiver = await openReceiver((request) => {
      const { id } = request.json();
      // Not awaited: it comes in while the confirmation is on its way.
      extensions.set(
        id,
        op.jobs.extendAck(account, id, 60, null).catch((error: Error) => error),
      );
      return { status: 202 };
    });
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack', ackTimeout: 30 });
    // It waits a second for the confirmation, which may take longer on a busy machine: one that is quick suffices.
    await waitFor(async () => {
      const { id } = await api.publish(queue.name);
      await waitFor(() => extensions.has(id), { message: 'the delivery' });
      const extended = await extensions.get(id);
      if (extended instanceof Error) throw extended;
      return extended;
    });
  });
});

describe.concurrent('a revoked key', () => {
  it('is refused by every process within a second', async () => {
    const { id, key } = await op.accounts.createApiKey(account, 'to be revoked');
    const clients = cluster.apiProcesses.map((process) => createApi(process.baseUrl, key));
    for (const client of clients) expect((await client.call('GET', '/v1/queues')).status).toBe(200);
    await op.accounts.revokeApiKey(account, id);
    const revokedAt = performance.now();
    for (const client of clients) {
      await waitFor(
        async () => {
          const askedAt = performance.now();
          const { status } = await client.call('GET', '/v1/queues');
          if (askedAt - revokedAt > 1000) always(() => expect(status).toBe(401));
          return status === 401;
        },
        { everyMs: 5 },
      );
    }
  });
});

describe.concurrent('changes by REST', () => {
  it('are in the audit log with the key of the request', async () => {
    const { id: keyId, key } = await op.accounts.createApiKey(account, 'rest');
    const client = createApi(cluster.apiProcesses[1]?.baseUrl ?? '', key);
    const receiver = await openReceiver({ status: 500 });
    const queue = await client.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    await client.updateQueue(queue.id, { ...queue, concurrency: 7 });
    await client.updateQueue(queue.id, { concurrency: 7 });
    const jobs = [await client.publish(queue.name), await client.publish(queue.name)];
    for (const job of jobs) await client.waitForStatus(job.id, 'dead');
    const [one, other] = (await client.listDeadLetters(queue.id)).jobs;
    await client.call('POST', `/v1/queues/${queue.id}/dlq/${one?.id}/replay`);
    await client.call('POST', `/v1/queues/${queue.id}/dlq/replay`, { jobIds: [other?.id] });
    await client.call('DELETE', `/v1/queues/${queue.id}`);
    await client.call('DELETE', `/v1/queues/${queue.id}`);
    const entries = [...(await op.auditOf(queue.id)), ...(await op.auditOf(one?.id ?? ''))];
    expect(entries.map((entry) => entry.action)).toEqual([
      'queue.create',
      'queue.update',
      'dead_letters.replay',
      'queue.delete',
      'dead_letter.replay',
    ]);
    expect(entries[1]).toMatchObject({ before: { concurrency: 5 }, after: { concurrency: 7 } });
    const label = `rest (${key.slice(0, 6)}…${key.slice(-4)})`;
    for (const entry of entries)
      expect(entry).toMatchObject({ actor_type: 'api_key', actor_id: keyId, actor_label: label });
  });
});
