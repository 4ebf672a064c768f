import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiDeadLetter, type ApiPublished, type ApiQueue, createApi } from '../support/api.ts';
import type { Receiver } from '../support/receiver.ts';
import { openReceiver, startService } from '../support/service.ts';
import { DATE_TIME, ID, refusal, UNKNOWN_ID } from '../support/shapes.ts';

/** Spec "Dead-letter queue", on the real service; the shapes of replay answers are D19's. */

interface BulkReplay {
  replayed: number;
  skipped: number;
  jobs: { id: string; replayedJobId: string }[];
  errors: { id: string; error: string }[];
  remaining: number;
}

let api: Api;
let free: Api;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await openReceiver({ status: 500 });
  const service = await startService({ PLANS: '{"free":{"monthlyAttempts":2}}' });
  api = service.api;
  free = createApi(service.jobferry.baseUrl, (await createAccount(service.databaseUrl, 'free')).key);
});

/** A queue whose webhook fails, with so many dead letters, the oldest first. */
async function queueWithDeadLetters(
  count: number,
  settings: Partial<ApiQueue> = {},
  by = api,
): Promise<{ queue: ApiQueue; letters: ApiDeadLetter[] }> {
  const queue = await by.createQueue({ webhookUrl: receiver.url, maxAttempts: 1, ...settings });
  for (let n = 0; n < count; n += 1) {
    const { id } = await by.publish(queue.name, { payload: { n }, idempotencyKey: `key ${n}` });
    await by.waitForStatus(id, 'dead');
  }
  const { jobs } = await by.listDeadLetters(queue.id, '?limit=100');
  return { queue, letters: jobs.reverse() };
}

const idsOf = (letters: { id: string }[]) => letters.map(({ id }) => id);
const replayOf = (queue: ApiQueue, letter: { id: string }) => `/v1/queues/${queue.id}/dlq/${letter.id}/replay`;

async function letterOf(queue: ApiQueue, id: string): Promise<ApiDeadLetter | undefined> {
  return (await api.listDeadLetters(queue.id, '?limit=100')).jobs.find((letter) => letter.id === id);
}

describe('GET /v1/queues/{id}/dlq', () => {
  it('answers pages of entries with the fields of the spec, most recently dead first', async () => {
    const { queue, letters } = await queueWithDeadLetters(3);
    const page = await api.listDeadLetters(queue.id);
    expect(page).toEqual({ jobs: [...letters].reverse(), total: 3, page: 1, limit: 25 });
    for (const [n, letter] of letters.entries()) {
      const job = await api.getJob(letter.originalJobId);
      expect(letter).toEqual({
        id: ID,
        originalJobId: job.id,
        queue: queue.name,
        payload: { n },
        history: job.history,
        deadAt: DATE_TIME,
        replayedAt: null,
        replayedJobId: null,
      });
      expect(job).toMatchObject({ status: 'dead', lastError: 'HTTP 500', completedAt: null });
    }
    const second = await api.listDeadLetters(queue.id, '?limit=2&page=2');
    expect(second).toEqual({ jobs: letters.slice(0, 1), total: 3, page: 2, limit: 2 });
    expect(await api.listDeadLetters(queue.id, '?page=3')).toEqual({ jobs: [], total: 3, page: 3, limit: 25 });
  });

  it('takes from and to as inclusive bounds on deadAt', async () => {
    const { queue, letters } = await queueWithDeadLetters(3);
    const [first = '', middle = '', last = ''] = letters.map((letter) => letter.deadAt);
    expect(new Set([first, middle, last]).size, 'one after the other').toBe(3);
    const found = async (query: Record<string, string>) => {
      const { jobs, total } = await api.listDeadLetters(queue.id, `?${new URLSearchParams(query)}`);
      expect(total).toBe(jobs.length);
      return jobs.map((letter) => letter.deadAt).reverse();
    };
    expect(await found({ from: middle })).toEqual([middle, last]);
    expect(await found({ to: middle })).toEqual([first, middle]);
    expect(await found({ from: middle, to: middle })).toEqual([middle]);
    expect(await found({ from: last, to: first })).toEqual([]);
    expect(await found({ from: '2001-01-01T00:00:00Z' })).toEqual([first, middle, last]);
  });

  it('leaves out what was replayed when includeReplayed is false, and only then', async () => {
    const { queue, letters } = await queueWithDeadLetters(2);
    const [replayed, open] = idsOf(letters);
    await api.call('POST', replayOf(queue, { id: replayed ?? '' }));
    const found = async (query: string) => idsOf((await api.listDeadLetters(queue.id, query)).jobs);
    expect(await found('?includeReplayed=false')).not.toContain(replayed);
    expect(await found('?includeReplayed=false')).toContain(open);
    for (const query of ['', '?includeReplayed=true', '?includeReplayed=null', '?includeReplayed=']) {
      expect(await found(query), query).toEqual(expect.arrayContaining([replayed, open]));
    }
  });

  it.each([
    ...['page=0', 'page=x', 'limit=0', 'limit=101', 'includeReplayed=maybe', 'includeReplayed=1'],
    ...['from=x', 'to=2026-13-01T00:00:00Z', 'includeReplayed=true&includeReplayed=true'],
  ])('400 on ?%s', async (query) => {
    const { queue } = await queueWithDeadLetters(0);
    const answer = await api.call('GET', `/v1/queues/${queue.id}/dlq?${query}`);
    expect(answer).toMatchObject({ status: 400, body: refusal });
  });
});

describe('POST /v1/queues/{id}/dlq/{jobId}/replay', () => {
  it("makes a new job with the queue's present settings, once", async () => {
    const { queue, letters } = await queueWithDeadLetters(1);
    const [letter] = letters;
    if (letter === undefined) throw new Error('no dead letter');
    const working = await openReceiver();
    await api.updateQueue(queue.id, { webhookUrl: working.url, maxAttempts: 5 });

    const answer = await api.call<ApiPublished>('POST', replayOf(queue, letter));
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({ id: ID, status: 'pending', createdAt: DATE_TIME });
    const job = await api.waitForStatus(answer.body.id, 'completed');
    expect(job).toMatchObject({ attempts: 1, maxAttempts: 5, idempotencyKey: null, payload: { n: 0 }, deferCount: 0 });
    expect(working.requests.map((request) => request.json().id)).toEqual([answer.body.id]);
    const { replayedAt, replayedJobId } = (await letterOf(queue, letter.id)) ?? {};
    expect([replayedAt, replayedJobId]).toEqual([DATE_TIME, answer.body.id]);
    expect(await api.getJob(letter.originalJobId), 'the dead job').toMatchObject({ status: 'dead', attempts: 1 });

    expect(await api.call('POST', replayOf(queue, letter))).toMatchObject({ status: 409, body: refusal });
    const again = await api.call('POST', `/v1/queues/${queue.name}/jobs`, { payload: {}, idempotencyKey: 'key 0' });
    expect(again, 'the key stays with the dead job').toMatchObject({ status: 200, body: { id: letter.originalJobId } });
  });

  it('404 for what is no entry of this queue', async () => {
    const [mine, other] = [await queueWithDeadLetters(1), await queueWithDeadLetters(1)];
    const [letter] = other.letters;
    for (const id of [letter?.id ?? '', mine.letters[0]?.originalJobId ?? '', UNKNOWN_ID, 'x']) {
      const answer = await api.call('POST', replayOf(mine.queue, { id }));
      expect(answer, id).toMatchObject({ status: 404, body: { error: 'dead letter not found' } });
    }
    expect((await letterOf(other.queue, letter?.id ?? ''))?.replayedAt).toBeNull();
  });
});

describe('POST /v1/queues/{id}/dlq/replay', () => {
  const replay = (queue: ApiQueue, body: unknown) =>
    api.call<BulkReplay>('POST', `/v1/queues/${queue.id}/dlq/replay`, body);

  it('replays what is named, and answers why the rest is skipped', async () => {
    const { queue, letters } = await queueWithDeadLetters(4);
    const other = await queueWithDeadLetters(1);
    await api.updateQueue(queue.id, { webhookUrl: (await openReceiver()).url });
    const [first = '', second = '', replayed = '', left = ''] = idsOf(letters);
    const foreign = other.letters[0]?.id ?? '';
    await api.call('POST', replayOf(queue, { id: replayed }));

    const answer = await replay(queue, { jobIds: [second, first, first, replayed, foreign, UNKNOWN_ID, 'no id', ''] });
    expect(answer.status, answer.text).toBe(200);
    const { jobs, errors } = answer.body;
    expect(answer.body).toEqual({ replayed: 2, skipped: 5, jobs, errors, remaining: 1 });
    expect(idsOf(jobs).sort()).toEqual([first, second].sort());
    const reasons = Object.fromEntries(errors.map(({ id, error }) => [id, error]));
    const unknown = 'dead letter not found';
    const expected = { [replayed]: 'already replayed', [foreign]: unknown, [UNKNOWN_ID]: unknown, 'no id': unknown };
    expect(reasons).toEqual({ ...expected, '': unknown });
    expect(errors).toHaveLength(5);
    for (const { id, replayedJobId } of jobs) {
      await api.waitForStatus(replayedJobId, 'completed');
      expect(await letterOf(queue, id)).toMatchObject({ replayedAt: DATE_TIME, replayedJobId });
    }
    expect((await letterOf(queue, left))?.replayedAt).toBeNull();

    const rest = await replay(queue, { all: true });
    expect(rest.body).toMatchObject({ replayed: 1, skipped: 0, jobs: [{ id: left }], errors: [], remaining: 0 });
    expect((await replay(queue, { all: true })).body).toEqual({
      replayed: 0,
      skipped: 0,
      jobs: [],
      errors: [],
      remaining: 0,
    });
  });

  it('takes at most 1000 a call, the oldest first', async () => {
    const { queue } = await queueWithDeadLetters(0, { concurrency: 100 });
    const total = 1003;
    await Promise.all(Array.from({ length: total }, () => api.publish(queue.name)));
    await expect.poll(async () => (await api.listDeadLetters(queue.id)).total).toBe(total);
    const newest = idsOf((await api.listDeadLetters(queue.id, '?limit=3')).jobs);
    await api.updateQueue(queue.id, { webhookUrl: (await openReceiver()).url });

    const answer = await replay(queue, { all: true });
    expect(answer.body).toMatchObject({ replayed: 1000, skipped: 0, errors: [], remaining: 3 });
    expect(new Set(answer.body.jobs.map((job) => job.replayedJobId)).size).toBe(1000);
    const rest = await replay(queue, { all: true });
    expect(rest.body).toMatchObject({ replayed: 3, remaining: 0 });
    expect(idsOf(rest.body.jobs).sort()).toEqual(newest.sort());
  });

  it.each<[name: string, body: object]>([
    ['neither', {}],
    ['all: false', { all: false }],
    ['all as text', { all: 'true' }],
    ['both', { all: true, jobIds: [UNKNOWN_ID] }],
    ['no ids', { jobIds: [] }],
    ['one id', { jobIds: UNKNOWN_ID }],
    ['a number', { jobIds: [1] }],
    ['null', { jobIds: [null] }],
    ['1001 ids', { jobIds: Array(1001).fill(UNKNOWN_ID) }],
  ])('400 with one message: %s', async (_name, body) => {
    const { queue } = await queueWithDeadLetters(0);
    expect(await replay(queue, body)).toMatchObject({ status: 400, body: refusal });
  });
});

describe('all three', () => {
  const calls = (queueId: string, letterId: string): [method: string, path: string, body?: object][] => [
    ['GET', `/v1/queues/${queueId}/dlq`],
    ['POST', `/v1/queues/${queueId}/dlq/${letterId}/replay`],
    ['POST', `/v1/queues/${queueId}/dlq/replay`, { all: true }],
    ['POST', `/v1/queues/${queueId}/dlq/replay`, { jobIds: [letterId] }],
  ];

  it('answer 410 once the queue is deleted, and 404 for one that never was', async () => {
    const { queue, letters } = await queueWithDeadLetters(1);
    await api.call('DELETE', `/v1/queues/${queue.id}`);
    for (const [method, path, body] of calls(queue.id, letters[0]?.id ?? '')) {
      expect(await api.call(method, path, body), path).toMatchObject({ status: 410, body: refusal });
    }
    for (const [method, path, body] of calls(UNKNOWN_ID, letters[0]?.id ?? '')) {
      const unknown = { status: 404, body: { error: 'queue not found' } };
      expect(await api.call(method, path, body), path).toMatchObject(unknown);
    }
  });

  it("402 for replays when the free plan's attempts are used up", async () => {
    const { queue, letters } = await queueWithDeadLetters(2, {}, free);
    const [list, ...replays] = calls(queue.id, letters[0]?.id ?? '');
    for (const [method, path, body] of replays) {
      expect(await free.call(method, path, body), path).toMatchObject({ status: 402, body: refusal });
    }
    expect((await free.call(...(list ?? ['GET', '/']))).status).toBe(200);
    expect((await free.listDeadLetters(queue.id, '?includeReplayed=false')).total).toBe(2);
  });
});
