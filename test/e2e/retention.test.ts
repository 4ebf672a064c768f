import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { openServices } from '../support/services.ts';
import { always, waitFor } from '../support/wait-for.ts';

const HOUR_MS = 3_600_000;

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

// At the same time, because both mostly wait for the same deadline.
describe.concurrent('retention', () => {
  const RETENTION_MS = 6000;
  let cluster: Cluster;

  beforeAll(async () => {
    const env = { JOB_RETENTION_SECONDS: String(RETENTION_MS / 1000), RETENTION_SWEEP_SECONDS: '0.5' };
    cluster = await startCluster({ workers: 1, env });
  });

  it('keeps everything until its deadline, and nothing after it', async () => {
    const { api } = cluster;
    const { queue, ids, letterId } = await populate(api);
    const publishedAt = new Date((await api.getJob(ids[0] ?? '')).createdAt).getTime();
    const deadlineOfLast = new Date((await api.getJob(ids[2] ?? '')).createdAt).getTime() + RETENTION_MS;

    // The rows that were there and that were not, with the database's time before and after each read.
    const clock = async () =>
      (await cluster.query<{ ms: number }>('select (extract(epoch from jobferry_now()) * 1000)::float8 as ms'))[0]
        ?.ms ?? 0;
    let looksBefore = 0;
    await waitFor(async () => {
      const before = await clock();
      const statuses = await getStatuses(api, ids);
      const { total } = await api.listJobs(queue.id);
      const after = await clock();
      if (after < publishedAt + RETENTION_MS) {
        looksBefore += 1;
        always(() => expect({ statuses, total }).toEqual({ statuses: [200, 200, 200], total: 3 }));
      }
      // The last one still waits for its turn.
      if (before <= deadlineOfLast) return false;
      always(() => expect({ statuses, total }).toEqual({ statuses: [404, 404, 200], total: 1 }));
      return true;
    });
    expect(looksBefore).toBeGreaterThan(0);

    expect((await api.listDeadLetters(queue.id)).total).toBe(0);
    expect((await api.call('POST', `/v1/queues/${queue.id}/dlq/${letterId}/replay`)).status).toBe(404);
    const all = await api.call('POST', `/v1/queues/${queue.id}/dlq/replay`, { all: true });
    expect(all.body).toMatchObject({ replayed: 0, remaining: 0 });
    // The key is free again.
    const body = { payload: {}, idempotencyKey: 'completed' };
    expect((await api.call('POST', `/v1/queues/${queue.name}/jobs`, body)).status).toBe(201);
    await waitFor(async () => (await rowCount(cluster, queue, 'job')) <= 2, { message: 'the sweep' });
    expect(await rowCount(cluster, queue, 'dead_letter')).toBe(0);
  });

  it('answers 410 for a deleted queue until its last job is past retention, then 404', async () => {
    const { api } = cluster;
    // The sweep must survive the loss of its own wake-up.
    await cluster.query('delete from graphile_worker._private_jobs');
    const { queue, ids } = await populate(api);
    expect((await api.call('DELETE', `/v1/queues/${queue.id}`)).status).toBe(204);
    const dlq = async () => (await api.call('GET', `/v1/queues/${queue.id}/dlq`)).status;
    expect(await dlq()).toBe(410);
    expect(await getStatuses(api, ids)).toEqual([200, 200, 200]);
    await waitFor(async () => {
      const answer = await dlq();
      if (answer === 404) return true;
      always(() => expect(answer).toBe(410));
      return false;
    });
    expect(await getStatuses(api, ids)).toEqual([404, 404, 404]);
    expect(await rowCount(cluster, queue, 'queue')).toBe(0);
  });
});

// D36. Beside the above, because this mostly waits too.
describe.concurrent('retention of what has not ended', () => {
  const RETENTION_MS = 2000;
  const LIFETIME_MS = 3000;

  it('keeps a job of a paused queue until it ends, and then for a lifetime', async () => {
    const cluster = await startCluster({
      workers: 1,
      env: {
        JOB_RETENTION_SECONDS: String(RETENTION_MS / 1000),
        JOB_LIFETIME_SECONDS: String(LIFETIME_MS / 1000),
        RETENTION_SWEEP_SECONDS: '0.2',
      },
    });
    const { api } = cluster;
    expect(cluster.workers[0]?.logs.map(({ msg }) => msg)).toContainEqual(
      expect.stringMatching(/^JOB_RETENTION_SECONDS is shorter/),
    );
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
    await waitFor(async () => (await getStatuses(api, [young.id]))[0] === 404, { message: 'retention' });
    await waitFor(async () => (await rowCount(cluster, other, 'job')) === 0, { message: 'the sweep' });

    expect(await api.getJob(waiting.id)).toMatchObject({ status: 'pending' });
    const listed = await api.listJobs(paused.id);
    expect(listed).toMatchObject({ total: 1, jobs: [{ id: waiting.id }] });
    expect(Date.parse(listed.appliedFrom)).toBeLessThanOrEqual(Date.parse(waiting.createdAt));
    expect(await found()).toEqual([waiting.id]);
    expect((await depth())?.due).toBe(1);
    // The window of a key is not longer for it.
    const again = await api.call<{ id: string }>('POST', `/v1/queues/${paused.name}/jobs`, {
      payload: {},
      idempotencyKey: 'waiting',
    });
    expect(again.status).toBe(201);

    await op.queues.resume(account, paused.id);
    const dead = await api.waitForStatus(waiting.id, 'dead');
    const diedAt = Date.parse(dead.history[0]?.timestamp ?? '');
    const letters = await api.listDeadLetters(paused.id);
    expect(letters.jobs.map((letter) => letter.originalJobId)).toContain(waiting.id);
    expect((await api.listJobs(paused.id)).jobs.map((job) => job.id)).toContain(waiting.id);
    const isPast = () => Date.now() >= diedAt + LIFETIME_MS;
    await waitFor(async () => (await depth())?.dead === 2 || isPast(), { message: 'the death of the second job, too' });

    await waitFor(async () => {
      const before = Date.now();
      const [status] = await getStatuses(api, [waiting.id]);
      const { total } = await api.listDeadLetters(paused.id);
      if (!isPast()) always(() => expect(status).toBe(200));
      if (before <= diedAt + LIFETIME_MS) return false;
      always(() => expect({ status, total }).toEqual({ status: 404, total: 0 }));
      return true;
    });
    await waitFor(async () => (await rowCount(cluster, paused, 'job')) === 0, { message: 'the second sweep' });
    expect(await rowCount(cluster, paused, 'dead_letter')).toBe(0);
  });

  it('waits while the clock of the database is not to be trusted', async () => {
    const cluster = await startCluster({ workers: 1, env: { RETENTION_SWEEP_SECONDS: '0.2' } });
    const { api } = cluster;
    const processes = [...cluster.apiProcesses, ...cluster.workers];
    const said = (text: string) => processes.every(({ logs }) => logs.some(({ msg }) => msg.includes(text)));
    const { queue, ids } = await populate(api);
    const statuses = async () => (await Promise.all(ids.map((id) => api.getJob(id)))).map(({ status }) => status);
    const before = await statuses();

    await moveClock(cluster, 100);
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
    await moveClock(cluster, 0);
    await waitFor(() => said('trusted again'), { message: 'the clock to be trusted again' });
    expect(await statuses()).toEqual(before);
  });
});

function moveClock(cluster: Cluster, hours: number): Promise<unknown> {
  return cluster.query(`
    create or replace function jobferry_now() returns timestamptz language sql volatile parallel safe
    as $$ select date_trunc('milliseconds', clock_timestamp()) + interval '${hours} hours' $$`);
}

describe('the database clock', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    // Such steps are the passage of time here, and not a fault.
    const env = { RETENTION_SWEEP_SECONDS: '0.5', MAX_CLOCK_JUMP_SECONDS: '1e6' };
    cluster = await startCluster({ workers: 1, env });
  });

  const move = (hours: number) => moveClock(cluster, hours);

  it('clamps lists to the window of the plan, and answers that it did', async () => {
    await move(0);
    const api = await cluster.addAccount('free');
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const old = await api.publish(queue.name);
    await api.waitForStatus(old.id, 'completed');
    const isClamped = (appliedFrom: string, hours: number, from: number) => {
      const windowMs = new Date(appliedFrom).getTime() - (Date.now() + hours * HOUR_MS - 24 * HOUR_MS);
      expect(Math.abs(windowMs)).toBeLessThan(20_000);
      expect(new Date(appliedFrom).getTime()).toBeGreaterThan(from);
    };
    const from = Date.now() - 48 * HOUR_MS;
    const query = `?from=${new Date(from).toISOString()}`;
    const before = await api.listJobs(queue.id, query);
    expect(before.total).toBe(1);
    isClamped(before.appliedFrom, 0, from);
    // A bound inside the window is taken as it is.
    const inside = new Date(Date.now() - HOUR_MS).toISOString();
    expect((await api.listJobs(queue.id, `?from=${inside}`)).appliedFrom).toBe(inside);

    await move(25);
    const after = await api.listJobs(queue.id, query);
    expect(after.total).toBe(0);
    isClamped(after.appliedFrom, 25, from);
    // Only lists are clamped: the job itself is there until its own deadline.
    expect((await api.getJob(old.id)).status).toBe('completed');
    await move(0);
  });

  it('moved by 73 hours ends at once the retention of all that has ended', async () => {
    const { api } = cluster;
    const { queue, ids } = await populate(api);
    expect(await getStatuses(api, ids)).toEqual([200, 200, 200]);
    await move(73);
    // The delivery lifetime of the last one is over, too: it dies, and stays for another day.
    expect(await getStatuses(api, ids)).toEqual([404, 404, 200]);
    expect((await api.listJobs(queue.id)).total).toBe(1);
    const body = { payload: {}, idempotencyKey: 'completed' };
    const again = await api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, body);
    expect(again.status).toBe(201);
    await api.waitForStatus(again.body.id, 'completed');
    await waitFor(async () => (await rowCount(cluster, queue, 'job')) === 2, { message: 'the sweep' });
    expect(await api.waitForStatus(ids[2] ?? '', 'dead')).toMatchObject({ lastError: 'delivery_lifetime_exceeded' });
    expect((await api.listDeadLetters(queue.id)).jobs.map((letter) => letter.originalJobId)).toEqual([ids[2]]);
  });
});
