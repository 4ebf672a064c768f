import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Api, ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { connect } from '../support/database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { openServices } from '../support/services.ts';
import { always, waitFor } from '../support/wait-for.ts';

const HOUR_MS = 3_600_000;
/** A process may know the database's clock from a while ago. */
const CLOCK_KNOWN_MS = 20_000;

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver({ respond: (request) => ({ status: request.path === '/fails' ? 500 : 200 }) });
});

/** A queue with one completed job, one dead with its dead letter, and one that waits for its turn. */
async function populate(api: Api) {
  const queue = await api.createQueue({ webhookUrl: `${receiver.url}/fails`, maxAttempts: 1 });
  const dead = await api.publish(queue.name, { payload: {}, idempotencyKey: 'dead' });
  await api.waitForStatus(dead.id, 'dead');
  await api.updateQueue(queue.id, { webhookUrl: receiver.url });
  const completed = await api.publish(queue.name, { payload: {}, idempotencyKey: 'completed' });
  await api.waitForStatus(completed.id, 'completed');
  const delayed = await api.publish(queue.name, { payload: {}, delay: 86_400 });
  const { jobs } = await api.listDeadLetters(queue.id);
  return { queue, ids: [dead.id, completed.id, delayed.id], letterId: jobs[0]?.id ?? '' };
}

async function getStatuses(api: Api, ids: string[]): Promise<number[]> {
  return Promise.all(ids.map(async (id) => (await api.call('GET', `/v1/jobs/${id}`)).status));
}

function rowCount(cluster: Cluster, queue: ApiQueue, table: 'job' | 'dead_letter' | 'queue'): Promise<number> {
  const column = table === 'queue' ? 'id' : 'queue_id';
  const text = `select count(*)::int as n from ${table} where ${column} = $1`;
  return cluster.query<{ n: number }>(text, [queue.id]).then((rows) => rows[0]?.n ?? -1);
}

function setClock(cluster: Cluster, expression: string): Promise<unknown> {
  return cluster.query(`
    create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
    as $$ select ${expression} $$`);
}

/** The sweep goes by the clock as its process knows it, which does not stand still with that of the database. */
async function withoutSweep(cluster: Cluster, work: () => Promise<void>): Promise<void> {
  const client = await connect(cluster.databaseUrl);
  try {
    await client.query(`select pg_advisory_lock(hashtextextended('jobferry sweep', 0))`);
    await work();
  } finally {
    await client.end();
  }
}

/**
 * The clock of the database, which a test moves forward, and so on: periods pass at once, however fast the machine is.
 */
describe('retention', () => {
  const RETENTION_MS = 70 * HOUR_MS;
  const LIFETIME_MS = 24 * HOUR_MS;
  let cluster: Cluster;
  let aheadMs = 0;

  beforeAll(async () => {
    const env = {
      JOB_RETENTION_SECONDS: String(RETENTION_MS / 1000),
      RETENTION_SWEEP_SECONDS: '0.2',
      // Such steps are the passage of time here, and not a fault.
      MAX_CLOCK_JUMP_SECONDS: '1e7',
    };
    cluster = await startCluster({ workers: 1, env });
  });
  // Never back: later than any moment at which a test has stopped the clock.
  beforeEach(() => advance(RETENTION_MS + LIFETIME_MS));

  const advance = (ms: number) => {
    aheadMs += ms;
    return setClock(cluster, `date_trunc('milliseconds', clock_timestamp()) + interval '${aheadMs} ms'`);
  };
  const stopAt = (ms: number) => setClock(cluster, `timestamptz '${new Date(ms).toISOString()}'`);
  const readClock = async () =>
    (await cluster.query<{ ms: number }>('select (extract(epoch from jobferry_now()) * 1000)::float8 as ms'))[0]?.ms ??
    0;
  const createdAt = async (id: string | undefined) => Date.parse((await cluster.api.getJob(id ?? '')).createdAt);

  it('keeps everything until its deadline, and nothing after it', async () => {
    const { api } = cluster;
    const { queue, ids, letterId } = await populate(api);
    // Lists go by the clock as the process knows it, so they are read an hour before and after.
    await stopAt((await createdAt(ids[0])) + RETENTION_MS - HOUR_MS);
    expect((await api.listJobs(queue.id)).total).toBe(3);
    // The delivery lifetime of the last one is over.
    expect(await api.waitForStatus(ids[2] ?? '', 'dead')).toMatchObject({ lastError: 'delivery_lifetime_exceeded' });
    await withoutSweep(cluster, async () => {
      await stopAt((await createdAt(ids[0])) + RETENTION_MS - 1);
      expect(await getStatuses(api, ids)).toEqual([200, 200, 200]);
    });

    await stopAt((await createdAt(ids[2])) + RETENTION_MS + 1);
    expect(await getStatuses(api, ids)).toEqual([404, 404, 404]);
    await advance(RETENTION_MS + HOUR_MS);
    await waitFor(async () => (await api.listJobs(queue.id)).total === 0, { message: 'the list without them' });
    await waitFor(async () => (await api.listDeadLetters(queue.id)).total === 0, { message: 'no dead letters' });
    expect((await api.call('POST', `/v1/queues/${queue.id}/dlq/${letterId}/replay`)).status).toBe(404);
    const all = await api.patiently('POST', `/v1/queues/${queue.id}/dlq/replay`, { all: true });
    expect(all.body).toMatchObject({ replayed: 0, remaining: 0 });
    // The key is free again.
    const body = { payload: {}, idempotencyKey: 'completed' };
    const again = await api.patiently<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, body);
    expect(again.status).toBe(201);
    await waitFor(async () => (await rowCount(cluster, queue, 'job')) === 1, { message: 'the sweep' });
    expect(await rowCount(cluster, queue, 'dead_letter')).toBe(0);
  });

  it('answers 410 for a deleted queue until its last job is past retention, then 404', async () => {
    const { api } = cluster;
    // The sweep must survive the loss of its own wake-up.
    await cluster.query('delete from graphile_worker._private_jobs');
    const { queue, ids } = await populate(api);
    expect((await api.patiently('DELETE', `/v1/queues/${queue.id}`)).status).toBe(204);
    // A moment after the deletion. A job that ended after its retention would stay for a lifetime.
    await api.waitForStatus(ids[2] ?? '', 'dead');
    const dlq = async () => (await api.patiently('GET', `/v1/queues/${queue.id}/dlq`)).status;
    await withoutSweep(cluster, async () => {
      await stopAt((await createdAt(ids[0])) + RETENTION_MS - 1);
      expect(await dlq()).toBe(410);
      expect(await getStatuses(api, ids)).toEqual([200, 200, 200]);
    });
    await advance(RETENTION_MS + HOUR_MS);
    await waitFor(async () => {
      const answer = await dlq();
      if (answer === 404) return true;
      always(() => expect(answer).toBe(410));
      return false;
    });
    expect(await getStatuses(api, ids)).toEqual([404, 404, 404]);
    expect(await rowCount(cluster, queue, 'queue')).toBe(0);
  });

  // D36
  it('keeps a job of a paused queue until it ends, and then for a lifetime', async () => {
    const { api } = cluster;
    const op = openServices(cluster.databaseUrl, { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS });
    const account = await op.firstAccount();
    const paused = await api.createQueue({ webhookUrl: `${receiver.url}/fails`, maxAttempts: 1 });
    await op.queues.pause(account, paused.id);
    const depth = async () =>
      (await op.insight.states(account, [paused.id], { parts: ['depth'] })).get(paused.id)?.depth;
    const newest = { field: 'created_at', descending: true } as const;
    const slice = { limit: 10, inverted: false };
    const found = async () =>
      (await op.jobs.search(account, { queueIds: [paused.id] }, newest, slice)).map(({ id }) => id);
    const other = await api.createQueue({ webhookUrl: receiver.url });
    const waiting = await api.publish(paused.name, { payload: {}, idempotencyKey: 'waiting' });
    // Ended before: sets the pace of the sweep, and is younger than what must stay.
    const young = await api.publish(other.name);
    await api.waitForStatus(young.id, 'completed');
    await advance(RETENTION_MS + HOUR_MS);
    expect(await getStatuses(api, [young.id])).toEqual([404]);
    await waitFor(async () => (await rowCount(cluster, other, 'job')) === 0, { message: 'the sweep' });

    expect(await api.getJob(waiting.id)).toMatchObject({ status: 'pending' });
    const listed = await api.listJobs(paused.id);
    expect(listed).toMatchObject({ total: 1, jobs: [{ id: waiting.id }] });
    expect(Date.parse(listed.appliedFrom)).toBeLessThanOrEqual(Date.parse(waiting.createdAt));
    expect(await found()).toEqual([waiting.id]);
    expect((await depth())?.due).toBe(1);
    // The window of a key is not longer for it.
    const again = await api.publish(paused.name, { payload: {}, idempotencyKey: 'waiting' });
    expect(again.id).not.toBe(waiting.id);

    await op.queues.resume(account, paused.id);
    for (const { id } of [waiting, again]) await api.waitForStatus(id, 'dead');
    const letters = await api.listDeadLetters(paused.id);
    const letter = letters.jobs.find(({ originalJobId }) => originalJobId === waiting.id);
    expect((await api.listJobs(paused.id)).jobs.map((job) => job.id)).toContain(waiting.id);
    const diedAt = Date.parse(letter?.deadAt ?? '');

    await withoutSweep(cluster, async () => {
      await stopAt(diedAt + LIFETIME_MS - 1);
      expect(await getStatuses(api, [waiting.id, again.id])).toEqual([200, 200]);
    });
    await stopAt(diedAt + LIFETIME_MS + 1);
    expect(await getStatuses(api, [waiting.id, again.id])).toEqual([404, 200]);
    expect((await api.listDeadLetters(paused.id)).jobs.map((one) => one.originalJobId)).toEqual([again.id]);
    await advance(LIFETIME_MS + HOUR_MS);
    await waitFor(async () => (await rowCount(cluster, paused, 'job')) === 1, { message: 'the second sweep' });
    expect(await rowCount(cluster, paused, 'dead_letter')).toBe(1);
  });

  it('is not what clamps lists to the window of the plan, which answers name', async () => {
    const api = await cluster.addAccount('free');
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const old = await api.publish(queue.name);
    await api.waitForStatus(old.id, 'completed');
    const from = (await readClock()) - 48 * HOUR_MS;
    /** The list, which begins 24 hours before its request: the clock before and after it says when that was. */
    const listClamped = async () => {
      const before = await readClock();
      const list = await api.listJobs(queue.id, `?from=${new Date(from).toISOString()}`);
      const after = await readClock();
      const began = Date.parse(list.appliedFrom) + 24 * HOUR_MS;
      expect(began).toBeGreaterThan(before - CLOCK_KNOWN_MS);
      expect(began).toBeLessThan(after + CLOCK_KNOWN_MS);
      return list.total;
    };
    expect(await listClamped()).toBe(1);
    // A bound inside the window is taken as it is.
    const inside = new Date((await readClock()) - HOUR_MS).toISOString();
    expect((await api.listJobs(queue.id, `?from=${inside}`)).appliedFrom).toBe(inside);

    await advance(25 * HOUR_MS);
    expect(await listClamped()).toBe(0);
    // Only lists are clamped: the job itself is there until its own deadline.
    expect((await api.getJob(old.id)).status).toBe('completed');
  });
});

it('retention waits while the clock of the database is not to be trusted', async () => {
  const cluster = await startCluster({ workers: 1, env: { RETENTION_SWEEP_SECONDS: '0.2' } });
  const { api } = cluster;
  const processes = [...cluster.apiProcesses, ...cluster.workers];
  const said = (text: string) => processes.every(({ logs }) => logs.some(({ msg }) => msg.includes(text)));
  const { queue, ids } = await populate(api);
  const statuses = async () => (await Promise.all(ids.map((id) => api.getJob(id)))).map(({ status }) => status);
  const before = await statuses();

  await setClock(cluster, "date_trunc('milliseconds', clock_timestamp()) + interval '100 hours'");
  await waitFor(() => said('has moved'), { message: 'the jump to be noticed' });
  // A key is not free, and a job that can no longer be delivered in time does not die.
  const body = { payload: {}, idempotencyKey: 'completed' };
  const again = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, body);
  expect([again.status, again.body.id]).toEqual([200, ids[1]]);
  // Longer than the rounds of the sweep and of the lifetimes: both have had their turn.
  const other = await api.createQueue({ webhookUrl: receiver.url });
  const later = await api.publish(other.name, { payload: {}, delay: 5.5 });
  await api.waitForStatus(later.id, 'completed');
  expect(await rowCount(cluster, queue, 'job')).toBe(3);
  expect(await rowCount(cluster, queue, 'dead_letter')).toBe(1);
  await setClock(cluster, "date_trunc('milliseconds', clock_timestamp())");
  await waitFor(() => said('trusted again'), { message: 'the clock to be trusted again' });
  expect(await statuses()).toEqual(before);
});

it('retention sweeps when the task `retention` runs, however long the period of the loop is', async () => {
  const env = { JOB_RETENTION_SECONDS: '3', RETENTION_SWEEP_SECONDS: '86400' };
  const cluster = await startCluster({ workers: 2, env });
  const { api } = cluster;
  const queue = await api.createQueue({ webhookUrl: receiver.url });
  const { id } = await api.publish(queue.name);
  await waitFor(async () => (await getStatuses(api, [id]))[0] === 404, { message: 'retention' });
  await cluster.query(`select from graphile_worker.add_job('retention')`);
  await waitFor(async () => (await rowCount(cluster, queue, 'job')) === 0, { message: 'the sweep' });
  const rows = `select from graphile_worker.jobs where task_identifier = 'retention'`;
  await waitFor(async () => (await cluster.query(rows)).length === 0, { message: 'the end of the task' });
});
