import { beforeAll, describe, expect, it } from 'vitest';
import type { ApiAnswer, ApiDeadLetter, ApiPublished, ApiQueue, PublishBody } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

interface BulkResult {
  replayed: number;
  skipped: number;
  jobs: { id: string; replayedJobId: string }[];
  errors: { id: string; error: string }[];
  remaining: number;
}

/** Calls that race over two API processes; who wins is the database's decision. */
let cluster: Cluster;
let receiver: Receiver;

beforeAll(async () => {
  [cluster, receiver] = await Promise.all([startCluster({ apis: 2, workers: 1 }), startReceiver()]);
});

/** Makes one call so many times at once, spread over the processes. */
function race<Body>(count: number, method: string, path: string, body?: unknown): Promise<ApiAnswer<Body>[]> {
  const { apis } = cluster;
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const api = apis[index % apis.length];
      if (api === undefined) throw new Error('no API');
      return api.call<Body>(method, path, body);
    }),
  );
}

function statuses(answers: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function deliveriesOf(jobId: string | undefined): number {
  return receiver.requests.filter((request) => request.json().id === jobId).length;
}

describe('an idempotency key', () => {
  it('gives one job to 50 racing publishes, and one delivery', async () => {
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    const body: PublishBody = { payload: { n: 1 }, idempotencyKey: 'same' };
    const answers = await race<ApiPublished>(50, 'POST', `/v1/queues/${queue.name}/jobs`, body);
    expect(statuses(answers)).toEqual({ 200: 49, 201: 1 });
    const ids = new Set(answers.map((answer) => answer.body.id));
    expect(ids.size).toBe(1);
    const [id] = ids;
    await cluster.api.waitForStatus(id ?? '', 'completed');

    // Any later publish finds the old job, whatever it carries and whatever became of it.
    const later = await cluster.api.call('POST', `/v1/queues/${queue.name}/jobs`, {
      payload: { n: 2 },
      idempotencyKey: 'same',
      delay: 60,
    });
    expect(later).toMatchObject({ status: 200, body: { id, status: 'completed' } });
    expect((await cluster.api.getJob(id ?? '')).payload).toEqual({ n: 1 });
    expect((await cluster.api.listJobs(queue.id)).total).toBe(1);
    expect(deliveriesOf(id)).toBe(1);
  });

  it('is compared byte by byte', async () => {
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    // Case, white space, composed and decomposed, full width, and what a pattern would match.
    const keys = ['key', 'Key', 'key ', ' key', 'k\u00e9y', 'ke\u0301y', '\uff4bey', 'k%', 'k_y', '\u{1f511}'];
    for (const idempotencyKey of keys) {
      const answers = await race<ApiPublished>(2, 'POST', `/v1/queues/${queue.name}/jobs`, {
        payload: {},
        idempotencyKey,
      });
      expect(statuses(answers)).toEqual({ 200: 1, 201: 1 });
    }
    const { total, jobs } = await cluster.api.listJobs(queue.id, '?limit=100');
    expect(total).toBe(keys.length);
    expect(jobs.map((job) => job.idempotencyKey).reverse()).toEqual(keys);
  });

  it('belongs to one queue, and not to a later one of the same name', async () => {
    const body = { payload: {}, idempotencyKey: 'scoped' };
    const create = () => cluster.api.createQueue({ name: 'reborn', webhookUrl: receiver.url });
    const first = await create();
    const before = await cluster.api.publish('reborn', body);
    expect((await cluster.api.call('DELETE', `/v1/queues/${first.id}`)).status).toBe(204);
    await create();
    const after = await cluster.api.call<ApiPublished>('POST', '/v1/queues/reborn/jobs', body);
    expect(after.status).toBe(201);
    expect(after.body.id).not.toBe(before.id);
  });
});

describe('queue names', () => {
  it('are given to one of 20 racing creates', async () => {
    const body = { name: 'wanted', webhookUrl: receiver.url };
    const answers = await race<ApiQueue>(20, 'POST', '/v1/queues', body);
    expect(statuses(answers)).toEqual({ 201: 1, 400: 19 });
    for (const { status, body: refusal } of answers) {
      if (status === 400) expect(refusal).toMatchObject({ error: { fieldErrors: { name: [expect.any(String)] } } });
    }
  });
});

describe('replay', () => {
  /** A queue with so many dead letters; what is replayed of them will succeed. */
  async function deadLetters(count: number, settings: Partial<ApiQueue> = {}) {
    receiver.respondWith({ status: 500 });
    const queue = await cluster.api.createQueue({
      webhookUrl: receiver.url,
      maxAttempts: 1,
      concurrency: 100,
      ...settings,
    });
    const publishes = Array.from({ length: count }, (_, n) => cluster.api.publish(queue.name, { payload: { n } }));
    await Promise.all(publishes);
    await cluster.waitForCount(queue.id, 'dead', count);
    receiver.respondWith({});
    const letters: ApiDeadLetter[] = [];
    for (let page = 1; letters.length < count; page += 1) {
      const { jobs } = await cluster.api.listDeadLetters(queue.id, `?limit=100&page=${page}`);
      letters.push(...jobs);
    }
    return { queue, letters, path: `/v1/queues/${queue.id}/dlq` };
  }

  it('makes one job of an entry that 20 callers replay', async () => {
    const { queue, letters, path } = await deadLetters(1);
    const [letter] = letters;
    const answers = await race<ApiPublished>(20, 'POST', `${path}/${letter?.id}/replay`);
    expect(statuses(answers)).toEqual({ 201: 1, 409: 19 });
    const created = answers.find(({ status }) => status === 201)?.body;
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      status: 'pending',
      createdAt: expect.any(String),
    });
    const job = await cluster.api.waitForStatus(created?.id ?? '', 'completed');
    expect(job).toMatchObject({ payload: { n: 0 }, attempts: 1, idempotencyKey: null });
    expect(deliveriesOf(job.id)).toBe(1);
    expect((await cluster.api.listJobs(queue.id)).total).toBe(2);
    expect((await cluster.api.listDeadLetters(queue.id)).jobs).toMatchObject([
      { replayedJobId: job.id, replayedAt: expect.any(String) },
    ]);
    expect((await cluster.api.listDeadLetters(queue.id, '?includeReplayed=false')).total).toBe(0);
  });

  it('a replay of everything by 5 callers at once makes one job of each entry', async () => {
    const { queue, letters, path } = await deadLetters(300);
    const answers = await race<BulkResult>(5, 'POST', `${path}/replay`, { all: true });
    expect(statuses(answers)).toEqual({ 200: 5 });
    const replayed = answers.flatMap((answer) => answer.body.jobs);
    expect(replayed.map((job) => job.id).sort()).toEqual(letters.map((letter) => letter.id).sort());
    expect(new Set(replayed.map((job) => job.replayedJobId)).size).toBe(300);
    await cluster.waitForCount(queue.id, 'completed', 300);
    const last = await cluster.api.call('POST', `${path}/replay`, { all: true });
    expect(last.body).toEqual({ replayed: 0, skipped: 0, jobs: [], errors: [], remaining: 0 });
  });

  it('races with replays of single entries without doubling any', async () => {
    const { queue, letters, path } = await deadLetters(20);
    const jobIds = letters.map((letter) => letter.id);
    const [singles, bulks] = await Promise.all([
      Promise.all(jobIds.map((id) => cluster.api.call('POST', `${path}/${id}/replay`))),
      race<BulkResult>(4, 'POST', `${path}/replay`, { jobIds }),
    ]);
    const bySingle = singles.filter(({ status }) => status === 201).length;
    expect(statuses([...singles, { status: 409 }])[409]).toBe(20 - bySingle + 1);
    expect(bulks.reduce((sum, { body }) => sum + body.replayed, bySingle)).toBe(20);
    expect((await cluster.api.listJobs(queue.id)).total).toBe(40);
  });

  it('a replay of a list skips what cannot be replayed, with reasons, and counts what is left', async () => {
    const { letters, path } = await deadLetters(4);
    const other = await deadLetters(1);
    const [a, b, c] = letters.map((letter) => letter.id);
    expect((await cluster.api.call('POST', `${path}/${a}/replay`)).status).toBe(201);
    const foreign = other.letters[0]?.id;
    const unknown = 'f'.repeat(24);
    const jobIds = [b, a, b, foreign, unknown, 'not an id', letters[0]?.originalJobId, c];
    const { status, body } = await cluster.api.call<BulkResult>('POST', `${path}/replay`, { jobIds });
    expect(status).toBe(200);
    expect(body).toMatchObject({ replayed: 2, skipped: 5, remaining: 1 });
    expect(body.jobs.map((job) => job.id).sort()).toEqual([b, c].sort());
    const unfound = [foreign, unknown, 'not an id', letters[0]?.originalJobId];
    const reasons = new Map([[a, 'already replayed'], ...unfound.map((id) => [id, 'dead letter not found'] as const)]);
    expect(new Map(body.errors.map(({ id, error }) => [id, error]))).toEqual(reasons);
    expect(body.errors).toHaveLength(5);
  });
});
