import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { monotonicNow, type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createGate } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Deliveries at once by one worker. One queue gets 65 % of them, which is 13, so a queue with a limit of 14 needs both.
 */
const CAPACITY = 20;

/** Limits over two worker processes: each knows only by the database what the other has in flight. */
let cluster: Cluster;
let receiver: Receiver;

beforeAll(async () => {
  [cluster, receiver] = await Promise.all([
    startCluster({ env: { WORKER_CAPACITY: String(CAPACITY) } }),
    startReceiver(),
  ]);
  // Every claim, with the exact moment that it was decided by.
  await cluster.query(`
    create table claim_log (queue_id text, worker_id integer, at timestamptz);
    create function log_claim() returns trigger language plpgsql as $$ begin
      insert into claim_log values (new.queue_id, new.worker_id, new.deadline - interval '20 s'); return null; end $$;
    create trigger log_claim after update on job for each row
      when (old.status = 'pending' and new.status = 'processing') execute function log_claim();`);
});

/** A queue with so many jobs that are all due at once: published in one commit. */
async function createBacklog(count: number, settings: Partial<ApiQueue>): Promise<ApiQueue> {
  const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
  await cluster.query(`select ${publishInSql(queue.id, count)}`);
  return queue;
}

function deliveriesOf(queue: ApiQueue): ReceivedRequest[] {
  return receiver.requests.filter((request) => request.json().queue === queue.name);
}

/** The most requests that were open at once. */
function mostAtOnce(requests: ReceivedRequest[]): number {
  const changes = requests.flatMap(({ arrivedAt, answeredAt }) => [
    { at: arrivedAt, by: 1 },
    { at: answeredAt ?? Number.POSITIVE_INFINITY, by: -1 },
  ]);
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let open = 0;
  let most = 0;
  for (const { by } of changes) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}

/** So many requests, which are answered after a delay, or when the gate opens. */
type Turn = { count: number } & ({ delayMs: number } | { gate: ReturnType<typeof createGate> });

/** Requests in flight whose gate is closed stay so, and are seen however busy the machine is. */
function respondInTurn(turns: Turn[]): void {
  let arrived = 0;
  receiver.respondWith(async () => {
    let before = arrived;
    arrived += 1;
    for (const turn of turns) {
      before -= turn.count;
      if (before >= 0) continue;
      if ('delayMs' in turn) return { delayMs: turn.delayMs };
      await turn.gate.opened;
      break;
    }
    return {};
  });
}

describe('concurrency', () => {
  const inFlight = (queue: ApiQueue, count: number) =>
    waitFor(async () => (await cluster.count(queue.id, 'processing')) === count, { message: `${count} in flight` });

  it('is reached and never exceeded by two workers, and every job comes once', async () => {
    const [first, last] = [createGate(), createGate()];
    respondInTurn([
      { count: 14, gate: first },
      { count: 100, delayMs: 20 },
      { count: 14, gate: last },
    ]);
    const queue = await createBacklog(150, { concurrency: 14 });
    await inFlight(queue, 14);
    first.open();
    const counts: number[] = [];
    await waitFor(async () => {
      counts.push(await cluster.count(queue.id, 'processing'));
      return deliveriesOf(queue).length === 128;
    });
    // Each slot has been used again and again.
    await inFlight(queue, 14);
    last.open();
    await cluster.waitForCount(queue.id, 'completed', 150);
    const deliveries = deliveriesOf(queue);
    expect(deliveries).toHaveLength(150);
    expect(new Set(deliveries.map((request) => request.json().id)).size).toBe(150);
    expect(mostAtOnce(deliveries)).toBe(14);
    expect(Math.max(...counts)).toBeLessThanOrEqual(14);
    const text = 'select distinct worker_id from claim_log where queue_id = $1';
    expect(await cluster.query(text, [queue.id])).toHaveLength(2);
  });

  it('settles after a change under load', async () => {
    const gates = [createGate(), createGate(), createGate()] as const;
    respondInTurn([
      { count: 20, gate: gates[0] },
      { count: 3, gate: gates[1] },
      { count: 30, delayMs: 40 },
      { count: 12, gate: gates[2] },
    ]);
    const queue = await createBacklog(120, { concurrency: 20 });
    await inFlight(queue, 20);
    await cluster.api.updateQueue(queue.id, { concurrency: 3 });
    gates[0].open();
    await inFlight(queue, 3);
    gates[1].open();
    await receiver.waitFor(() => deliveriesOf(queue).length === 20 + 3 + 30 + 3);
    const few = deliveriesOf(queue).slice(20);
    await cluster.api.updateQueue(queue.id, { concurrency: 12 });
    await inFlight(queue, 12);
    gates[2].open();
    await cluster.waitForCount(queue.id, 'completed', 120);
    expect(mostAtOnce(few)).toBe(3);
    expect(mostAtOnce(deliveriesOf(queue))).toBe(20);
  });
});

describe('rate limit', () => {
  it('holds in every window over two workers, and is used up', async () => {
    receiver.respondWith({});
    const queue = await createBacklog(45, { concurrency: 100, rateLimitMax: 10, rateLimitWindow: 1 });
    await cluster.waitForCount(queue.id, 'completed', 45);
    const windows = await cluster.query<{ claims: number }>(
      'select count(*)::int as claims from claim_log where queue_id = $1 group by floor(extract(epoch from at))',
      [queue.id],
    );
    // A busy machine may stand still for a window or two, so one that is used up suffices.
    expect(Math.max(...windows.map(({ claims }) => claims))).toBe(10);
    expect(deliveriesOf(queue)).toHaveLength(45);
  });
});

describe('a hold of the whole queue', () => {
  it('releases exactly one probe over two workers, and then the rest', async () => {
    receiver.respondWith({ status: 202 });
    const queue = await createBacklog(50, { concurrency: 10, mode: 'ack', ackTimeout: 300 });
    const other = await cluster.api.createQueue({ webhookUrl: receiver.url });
    await cluster.waitForCount(queue.id, 'awaiting_ack', 10);
    const [first, ...rest] = (await cluster.api.listJobs(queue.id, '?status=awaiting_ack')).jobs;
    const call = async (id: string | undefined, action: 'ack' | 'defer') => {
      const body = action === 'defer' ? { retryAfter: 1.5 } : undefined;
      expect((await cluster.api.call('POST', `/v1/jobs/${id}/${action}`, body)).status).toBe(200);
    };
    /** Holds the queue, does what frees its slots, and returns the one job that is released then. */
    const probeAfterDefer = async (id: string | undefined, meanwhile: () => Promise<void>) => {
      const before = deliveriesOf(queue).length;
      const heldAt = monotonicNow();
      await call(id, 'defer');
      await meanwhile();
      await receiver.waitFor(() => deliveriesOf(queue).length > before);
      // A second one would have been released long before this job's turn.
      const canary = await cluster.api.publish(other.name, { payload: {}, delay: 1 });
      await cluster.api.waitForStatus(canary.id, 'completed');
      const [probe, ...more] = deliveriesOf(queue).slice(before);
      expect(more).toEqual([]);
      expect((probe?.arrivedAt ?? 0) - heldAt).toBeGreaterThanOrEqual(1490);
      return probe?.json().id;
    };

    const probe = await probeAfterDefer(first?.id, async () => {
      for (const { id } of rest) await call(id, 'ack');
    });
    const second = await probeAfterDefer(probe, async () => undefined);
    await call(second, 'ack');
    await cluster.waitForCount(queue.id, 'awaiting_ack', 10);
    expect(mostAtOnce(deliveriesOf(queue))).toBeLessThanOrEqual(10);
  });
});
