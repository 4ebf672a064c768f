import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiQueue } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { Running } from '../support/process.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import { monotonicNow, type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { createGate } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Deliveries at once by one worker. One queue gets 65 % of them, which is 13, so a queue with a limit of 14 needs both. */
const CAPACITY = 20;

/** Limits over two worker processes: each knows only by the database what the other has in flight. */
let cluster: Cluster;
let receiver: Receiver;

beforeAll(async () => {
  [cluster, receiver] = await Promise.all([
    startCluster({ env: { WORKER_CAPACITY: String(CAPACITY), LOG_LEVEL: 'debug' } }),
    startReceiver(),
  ]);
  // Every claim, with the exact moment that it was decided by.
  await cluster.query(`
    create table claim_log (queue_id text, job_id text, at timestamptz);
    create function log_claim() returns trigger language plpgsql as $$ begin
      insert into claim_log values (new.queue_id, new.id, new.deadline - interval '20 s'); return null; end $$;
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

function attemptsOf(worker: Running): number {
  return worker.logs.filter((line) => line.msg === 'attempt').length;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

describe('concurrency', () => {
  it('is reached and never exceeded by two workers, and every job comes once', async () => {
    // Long enough that a busy machine's way from one job's end to the next one's claim is short beside it.
    receiver.respondWith({ delayMs: 300 });
    const queue = await createBacklog(240, { concurrency: 14 });
    const inFlight: number[] = [];
    await waitFor(async () => {
      const completed = await cluster.count(queue.id, 'completed');
      if (completed > 40 && completed < 200) inFlight.push(await cluster.count(queue.id, 'processing'));
      return completed === 240;
    });
    const deliveries = deliveriesOf(queue);
    expect(deliveries).toHaveLength(240);
    expect(new Set(deliveries.map((request) => request.json().id)).size).toBe(240);
    expect(mostAtOnce(deliveries)).toBe(14);
    expect(Math.max(...inFlight)).toBeLessThanOrEqual(14);
    // The way from one job's end to the next one's claim is all that a slot may be idle for.
    expect(median(inFlight)).toBeGreaterThanOrEqual(12);
    for (const worker of cluster.workers) expect(attemptsOf(worker)).toBeGreaterThan(0);
  });

  it('settles after a change under load', async () => {
    // A number that is reached stays until its gate opens, so it is seen however busy the machine is.
    const inFlight = (count: number) =>
      waitFor(async () => (await cluster.count(queue.id, 'processing')) === count, { message: `${count} in flight` });
    const closeGate = () => {
      const gate = createGate();
      receiver.respondWith(async () => {
        await gate.opened;
        return {};
      });
      return gate;
    };
    const first = closeGate();
    const queue = await createBacklog(120, { concurrency: 20 });
    await inFlight(20);
    await cluster.api.updateQueue(queue.id, { concurrency: 3 });
    receiver.respondWith({ delayMs: 120 });
    first.open();
    await waitFor(async () => (await cluster.count(queue.id, 'processing')) <= 3, { everyMs: 5 });
    const lowered = deliveriesOf(queue).length;
    await receiver.waitFor(() => deliveriesOf(queue).length >= lowered + 30);
    const few = deliveriesOf(queue).slice(lowered);
    const second = closeGate();
    await cluster.api.updateQueue(queue.id, { concurrency: 12 });
    await inFlight(12);
    second.open();
    await cluster.waitForCount(queue.id, 'completed', 120, 40_000);
    expect(mostAtOnce(few)).toBeLessThanOrEqual(3);
    expect(mostAtOnce(deliveriesOf(queue))).toBeLessThanOrEqual(20);
  });
});

describe('rate limit', () => {
  it('holds in every window over two workers, and is used up', async () => {
    receiver.respondWith({});
    const queue = await createBacklog(800, { concurrency: 100, rateLimitMax: 100, rateLimitWindow: 1 });
    await cluster.waitForCount(queue.id, 'completed', 800, 40_000);
    const windows = await cluster.query<{ claims: number }>(
      `select count(*)::int as claims from claim_log where queue_id = $1
        group by floor(extract(epoch from at)) order by floor(extract(epoch from at))`,
      [queue.id],
    );
    const claims = windows.map((window) => window.claims);
    expect(Math.max(...claims)).toBeLessThanOrEqual(100);
    // The first may have begun before the backlog was there, the last holds the rest.
    const inner = claims.slice(1, -1);
    expect(inner.length).toBeGreaterThanOrEqual(6);
    // A busy machine may stand still for a window or two.
    expect(median(inner)).toBeGreaterThanOrEqual(95);
    expectSpans(
      deliveriesOf(queue).map((request) => request.arrivedAt),
      100,
    );
  });
});

/** The receiver's view: any span of n windows holds at most (n + 1) limits, but for the way there. */
function expectSpans(arrivals: number[], limit: number): void {
  const onTheWay = 400;
  for (let spans = 1; spans <= 6; spans += 1) {
    for (const [index, arrival] of arrivals.entries()) {
      const end = arrivals.findIndex((later, at) => at > index && later >= arrival + spans * 1000 - onTheWay);
      expect((end === -1 ? arrivals.length : end) - index).toBeLessThanOrEqual((spans + 1) * limit);
    }
  }
}

describe('a hold of the whole queue', () => {
  it('releases exactly one probe over two workers, and then the rest', async () => {
    receiver.respondWith({ status: 202 });
    const queue = await createBacklog(50, { concurrency: 10, mode: 'ack', ackTimeout: 60 });
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
