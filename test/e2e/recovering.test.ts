import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ApiQueue } from '../support/api.ts';
import { type Cluster, publishMany, startProcesses } from '../support/cluster.ts';
import type { Jobferry } from '../support/process.ts';
import { publishInSql, publishUnnoticed } from '../support/publish-in-sql.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait-for.ts';

/** Real faults on real processes. */
const env = { LOG_LEVEL: 'debug' };
const TOOK_BACK = 'took back the claims of dead workers';

let cluster: Cluster<Jobferry>;
let receiver: Receiver;

beforeAll(async () => {
  cluster = await startProcesses({ workers: 2, env });
});

beforeEach(async () => {
  receiver = await startReceiver();
  // Each test begins with two workers that are well.
  const states = await Promise.all(cluster.workers.map((worker) => isRunning(worker)));
  for (let alive = states.filter(Boolean).length; alive < 2; alive += 1) await cluster.addWorker();
});

afterEach(() => receiver.close());

function isRunning(worker: Jobferry): Promise<boolean> {
  return Promise.race([
    worker.exited.then(() => false),
    new Promise<boolean>((resolve) => setImmediate(resolve, true)),
  ]);
}

function deliveriesOf(jobId: string): ReceivedRequest[] {
  return receiver.requests.filter((request) => request.json().id === jobId);
}

/** Answers the first requests only when the test releases them, and every later one at once. */
function stall(count: number): () => void {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let stalled = 0;
  receiver.respondWith(async () => {
    stalled += 1;
    if (stalled <= count) await released;
    return {};
  });
  return release;
}

/** Publishes one job, and waits until a worker waits for the webhook's answer. */
async function publishStalled(settings: Partial<ApiQueue> = {}) {
  const release = stall(1);
  const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
  const job = await cluster.api.publish(queue.name);
  await receiver.waitFor(1);
  return { queue, job, release, worker: await cluster.workerOf(job.id) };
}

describe('a worker that is killed', () => {
  it('loses its deliveries to another, which repeats the attempt, but not for ever', async () => {
    stall(2);
    const settings = { maxAttempts: 2, backoffType: 'fixed', backoffDelay: 0 };
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
    // Two that are due in the same instant are claimed together, so one worker has both.
    await cluster.query(`select ${publishInSql(queue.id, 2)}`);
    await receiver.waitFor(2);
    const [lost = '', poison = ''] = receiver.requests.map((request) => request.json().id);
    // The tenth lost claim of a job counts as a failed attempt: it may be what kills the workers.
    await cluster.query('update job set interruptions = 9 where id = $1', [poison]);
    await (await cluster.workerOf(lost)).kill('SIGKILL');

    const again = await cluster.api.waitForStatus(lost, 'completed');
    const isTold = () => cluster.workers.some(({ logs }) => logs.some(({ msg }) => msg === TOOK_BACK));
    await waitFor(isTold, { message: TOOK_BACK });
    expect(deliveriesOf(lost).map((request) => request.json().attempt)).toEqual([1, 1]);
    expect(again).toMatchObject({ attempts: 1, history: [{ attempt: 1, status: 'success' }] });
    const counted = await cluster.api.waitForStatus(poison, 'completed');
    expect(deliveriesOf(poison).map((request) => request.json().attempt)).toEqual([1, 2]);
    expect(counted.history).toMatchObject([
      { attempt: 1, status: 'failed', error: 'worker_lost', webhookStatusCode: null },
      { attempt: 2, status: 'success' },
    ]);
  });

  it('is not needed for the ack timeout', async () => {
    receiver.respondWith({ status: 202 });
    const settings = { mode: 'ack', ackTimeout: 3, ackTimeoutAction: 'dead', maxAttempts: 2 };
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
    const { id } = await cluster.api.publish(queue.name);
    const worker = await waitFor(() => cluster.workers.find(({ logs }) => logs.some(({ jobId }) => jobId === id)));
    await worker.kill('SIGKILL');
    const dead = await cluster.api.waitForStatus(id, 'dead');
    const entry = { attempt: 1, status: 'failed', error: 'ack_timeout', webhookStatusCode: 202 };
    expect(dead.history).toMatchObject([entry]);
    expect(Date.parse(dead.history[0]?.timestamp ?? '') - Date.parse(dead.createdAt)).toBeGreaterThanOrEqual(3000);
    expect((await cluster.api.listDeadLetters(queue.id)).total).toBe(1);
  });
});

describe('a worker that is stopped', () => {
  it('finishes and settles what it delivers, claims nothing more, and exits with 0', async () => {
    const { queue, job, worker, release } = await publishStalled({ concurrency: 1 });
    const waiting = await publishMany(cluster.api, queue.name, 5);
    const stopped = worker.kill('SIGTERM');
    await waitFor(() => worker.logs.some((line) => line.msg.startsWith('stopping')));
    release();
    expect(await stopped).toEqual({ code: 0, signal: null });
    const [settled] = await cluster.query('select status, attempts from job where id = $1', [job.id]);
    expect(settled).toEqual({ status: 'completed', attempts: 1 });
    await cluster.waitForCount(queue.id, 'completed', 6);
    expect(await cluster.count(queue.id, 'processing')).toBe(0);
    for (const id of [job.id, ...waiting]) expect(deliveriesOf(id)).toHaveLength(1);
    const attempts = worker.logs.filter(({ queueId }) => queueId === queue.id);
    expect(attempts.map(({ jobId }) => jobId)).toEqual([job.id]);
  });
});

describe('a worker that is frozen past its lease', () => {
  it('loses the job to another, and its late result changes nothing', async () => {
    const { job, worker, release } = await publishStalled();
    process.kill(worker.pid, 'SIGSTOP');
    onTestFinished(() => void process.kill(worker.pid, 'SIGCONT'));
    // Its connections are still open, so nothing but the end of the lease takes its claim back.
    await cluster.query('update job set deadline = jobferry_now() where id = $1', [job.id]);
    await receiver.waitFor(2);
    const completed = await cluster.api.waitForStatus(job.id, 'completed');
    expect(deliveriesOf(job.id).map((request) => request.json().attempt)).toEqual([1, 1]);
    release();
    process.kill(worker.pid, 'SIGCONT');
    // It logs itself that its result came too late.
    const late = await waitFor(() => worker.logs.find(({ msg, jobId }) => msg === 'attempt' && jobId === job.id));
    expect(late).toMatchObject({ applied: false });
    expect(await cluster.api.getJob(job.id)).toEqual(completed);
    expect(completed).toMatchObject({ attempts: 1, history: [{ attempt: 1, status: 'success' }] });
  });
});

describe('the database', () => {
  it('may lose every wake-up: jobs are delivered anyway', async () => {
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    const settings = { mode: 'ack', ackTimeout: 3600, maxAttempts: 1 };
    const ack = await cluster.api.createQueue({ webhookUrl: receiver.url, ...settings });
    const later = await cluster.api.publish(queue.name, { payload: {}, delay: 3600 });
    const reported = await cluster.api.publish(ack.name);
    await cluster.api.waitForStatus(reported.id, 'awaiting_ack');
    // No worker is notified of one more job: it is published and its wake-up lost in one commit.
    await cluster.query(publishUnnoticed(queue.id, 1));
    await cluster.query('update job set scheduled_for = jobferry_now() where id = $1', [later.id]);
    await cluster.query('update job set deadline = jobferry_now() where id = $1', [reported.id]);
    await cluster.waitForCount(queue.id, 'completed', 2);
    expect(deliveriesOf(later.id)).toHaveLength(1);
    await cluster.api.waitForStatus(reported.id, 'dead');
  });

  it('may cut every connection: nothing is lost and no process needs a restart', async () => {
    receiver.respondWith({ delayMs: 5 });
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url, concurrency: 20 });
    const processes: Jobferry[] = [];
    for (const process of [...cluster.apiProcesses, ...cluster.workers]) {
      if (await isRunning(process)) processes.push(process);
    }
    const accepted = new Set<string>();
    let refused = 0;
    let done = false;
    const publisher = async () => {
      for (let n = 0; !done; n += 1) {
        const answer = await cluster.api.call<{ id: string }>('POST', `/v1/queues/${queue.name}/jobs`, {
          payload: { n },
        });
        expect([201, 503]).toContain(answer.status);
        if (answer.status === 201) accepted.add(answer.body.id);
        else refused += 1;
      }
    };
    const publishers = Promise.all(Array.from({ length: 4 }, publisher));
    for (let round = 1; round <= 3; round += 1) {
      const target = accepted.size + 60;
      await waitFor(() => accepted.size >= target, { message: 'publishing goes on' });
      const cut = `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'jobferry%'`;
      expect((await cluster.query(cut)).length).toBeGreaterThan(0);
    }
    const target = accepted.size + 60;
    await waitFor(() => accepted.size >= target, { message: 'publishing goes on' });
    done = true;
    await publishers;

    const lost = async () => {
      const rows = await cluster.query<{ id: string }>(
        `select id from job where queue_id = $1 and status = 'completed'`,
        [queue.id],
      );
      const completed = new Set(rows.map((row) => row.id));
      return [...accepted].filter((id) => !completed.has(id));
    };
    await waitFor(async () => (await lost()).length === 0, {
      message: 'delivery of all accepted jobs',
    });
    // A request whose answer was cut off may have been kept or not.
    const delivered = new Set(receiver.requests.map((request) => request.json().id));
    for (const id of accepted) expect(delivered).toContain(id);
    expect(delivered.size).toBeLessThanOrEqual(accepted.size + refused);
    for (const process of processes) {
      expect(await isRunning(process)).toBe(true);
      await waitFor(async () => (await fetch(`${process.baseUrl}/readyz`)).ok, { message: '/readyz' });
    }
  });
});
