import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiJob, type ApiPage, type ApiQueue, createApi } from '../support/api.ts';
import type { Receiver } from '../support/receiver.ts';
import { at, createGate, openReceiver, startService } from '../support/service.ts';
import { DATE_TIME, fieldRefusal, ID, refusal, UNKNOWN_ID } from '../support/shapes.ts';

/** Spec "Jobs" and "Ack mode", on the real service: every route, its fields, its bounds. */

type JobPage = ApiPage<ApiJob> & { appliedFrom: string };

let api: Api;
let free: Api;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await openReceiver();
  const env = { PLANS: '{"free":{"monthlyAttempts":2}}' };
  const service = await startService(env);
  api = service.api;
  free = createApi(service.jobferry.baseUrl, (await createAccount(service.databaseUrl, 'free')).key);
});

const createQueue = (settings: Partial<ApiQueue> = {}, by = api) =>
  by.createQueue({ webhookUrl: receiver.url, ...settings });

const HOUR_MS = 3_600_000;

describe('POST /v1/queues/{queueName}/jobs', () => {
  it('answers 201 with id, status and createdAt', async () => {
    const queue = await createQueue();
    const answer = await api.call('POST', `/v1/queues/${queue.name}/jobs`, { payload: {}, unknown: 1 });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({ id: ID, status: 'pending', createdAt: DATE_TIME });
    expect(answer.headers.get('x-jobferry-ignored')).toBe('unknown');
    expect(answer.headers.get('x-jobferry-payload')).toBeNull();
  });

  it('answers 404 to the id of a queue instead of its name, and says so', async () => {
    const { id } = await createQueue();
    const answer = await api.call('POST', `/v1/queues/${id}/jobs`, { payload: {} });
    expect(answer).toMatchObject({
      status: 404,
      body: { error: expect.stringMatching(/name of the queue, not its id/) },
    });
  });

  it('answers 200 with the earlier job of the same key, in whatever state, whatever the payload (D18)', async () => {
    const queue = await createQueue();
    const path = `/v1/queues/${queue.name}/jobs`;
    const first = await api.publish(queue.name, { payload: { n: 1 }, idempotencyKey: 'k' });
    await api.waitForStatus(first.id, 'completed');
    const again = await api.call('POST', path, { payload: { n: 2 }, idempotencyKey: 'k', delay: 60 });
    expect(again.status).toBe(200);
    expect(again.body).toEqual({ ...first, status: 'completed' });
    expect(again.headers.get('x-jobferry-payload')).toBe('differs');
    const same = await api.call('POST', path, { payload: { n: 1 }, idempotencyKey: 'k' });
    expect([same.status, same.headers.get('x-jobferry-payload')]).toEqual([200, null]);
    expect((await api.getJob(first.id)).payload).toEqual({ n: 1 });
    const other = await createQueue();
    const elsewhere = await api.call('POST', `/v1/queues/${other.name}/jobs`, { payload: {}, idempotencyKey: 'k' });
    expect(elsewhere.status, 'another queue').toBe(201);
  });

  it.each([0, 0.001, 0.25, 60, 86_400])('postpones the first delivery by a delay of %d s', async (delay) => {
    const queue = await createQueue();
    const job = await api.getJob((await api.publish(queue.name, { payload: {}, delay })).id);
    expect(at(job.scheduledFor) - at(job.createdAt)).toBe(delay * 1000);
  });

  it('copies maxAttempts from the queue (D5)', async () => {
    const queue = await createQueue({ maxAttempts: 7 });
    const { id } = await api.publish(queue.name, { payload: {}, delay: 60 });
    await api.updateQueue(queue.id, { maxAttempts: 2 });
    expect((await api.getJob(id)).maxAttempts).toBe(7);
    const { id: later } = await api.publish(queue.name, { payload: {}, delay: 60 });
    expect((await api.getJob(later)).maxAttempts).toBe(2);
  });

  it.each([
    ['payload', {}],
    ['payload', { payload: null }],
    ['payload', { payload: [] }],
    ['payload', { payload: 'text' }],
    ['idempotencyKey', { payload: {}, idempotencyKey: 'x'.repeat(256) }],
    ['idempotencyKey', { payload: {}, idempotencyKey: 1 }],
    ['delay', { payload: {}, delay: -0.001 }],
    ['delay', { payload: {}, delay: 86_400.001 }],
    ['delay', { payload: {}, delay: '1' }],
  ])('400 on %s: %j', async (field, body) => {
    const queue = await createQueue();
    const answer = await api.call('POST', `/v1/queues/${queue.name}/jobs`, body);
    expect(answer).toMatchObject({ status: 400, body: fieldRefusal(field) });
    expect((await api.listJobs(queue.id)).total).toBe(0);
  });

  it("402 when the free plan's attempts of the month are used up, for publish and nothing else", async () => {
    const queue = await createQueue({}, free);
    const path = `/v1/queues/${queue.name}/jobs`;
    for (const key of ['1', '2']) {
      const { id } = await free.publish(queue.name, { payload: {}, idempotencyKey: key });
      await free.waitForStatus(id, 'completed');
    }
    expect(await free.call('POST', path, { payload: {} })).toMatchObject({ status: 402, body: refusal });
    expect((await free.call('POST', path, { payload: {}, idempotencyKey: '1' })).status, 'creates nothing').toBe(200);
    expect((await free.listJobs(queue.id)).total).toBe(2);
    const paid = await createQueue();
    expect((await api.call('POST', `/v1/queues/${paid.name}/jobs`, { payload: {} })).status, 'paid plan').toBe(201);
  });
});

describe('GET /v1/jobs/{id}', () => {
  it('answers every field of the spec, before and after delivery, as the list does (D21)', async () => {
    const gate = createGate();
    const slow = await openReceiver(async () => {
      await gate.opened;
      return { status: 202 };
    });
    const queue = await createQueue({ webhookUrl: slow.url });
    const published = await api.publish(queue.name, { payload: { a: [1] }, idempotencyKey: 'Key' });
    await slow.waitFor(1);
    const job = await api.getJob(published.id);
    expect(job).toEqual({
      id: published.id,
      queue: queue.name,
      status: 'processing',
      attempts: 1,
      maxAttempts: 3,
      deferCount: 0,
      idempotencyKey: 'Key',
      payload: { a: [1] },
      scheduledFor: job.createdAt,
      lastError: null,
      history: [],
      createdAt: published.createdAt,
      completedAt: null,
    });
    gate.open();
    const done = await api.waitForStatus(published.id, 'completed');
    const entry = { attempt: 1, status: 'success', error: null, webhookStatusCode: 202, timestamp: DATE_TIME };
    expect(done).toEqual({ ...job, status: 'completed', history: [entry], completedAt: DATE_TIME });
    expect((await api.listJobs(queue.id)).jobs).toEqual([done]);
  });

  it.each([UNKNOWN_ID, 'x', UNKNOWN_ID.toUpperCase()])('404 for %s', async (id) => {
    const answer = await api.call('GET', `/v1/jobs/${id}`);
    expect(answer).toMatchObject({ status: 404, body: { error: 'job not found' } });
  });
});

/** A queue with jobs that stay as they are, oldest first. */
async function queueWithJobs(keys: (string | undefined)[]): Promise<{ queue: ApiQueue; jobs: ApiJob[] }> {
  const queue = await createQueue();
  const jobs: ApiJob[] = [];
  for (const [n, key] of keys.entries()) {
    const idempotencyKey = key === undefined ? {} : { idempotencyKey: key };
    const { id } = await api.publish(queue.name, { payload: { n }, delay: 3600, ...idempotencyKey });
    jobs.push(await api.getJob(id));
  }
  return { queue, jobs };
}

describe('GET /v1/queues/{id}/jobs', () => {
  it('answers pages, newest first, 25 jobs by default', async () => {
    const { queue, jobs } = await queueWithJobs(Array(27).fill(undefined));
    const newestFirst = jobs.map(({ id }) => id).reverse();
    const page = async (query: string) => {
      const { body, status, text } = await api.call<JobPage>('GET', `/v1/queues/${queue.id}/jobs${query}`);
      expect(status, text).toBe(200);
      expect(body).toEqual({ ...body, total: 27, appliedFrom: DATE_TIME });
      expect(Object.keys(body).sort()).toEqual(['appliedFrom', 'jobs', 'limit', 'page', 'total']);
      return [body.page, body.limit, body.jobs.map(({ id }) => id)];
    };
    expect(await page('')).toEqual([1, 25, newestFirst.slice(0, 25)]);
    expect(await page('?page=2')).toEqual([2, 25, newestFirst.slice(25)]);
    expect(await page('?limit=10&page=3')).toEqual([3, 10, newestFirst.slice(20)]);
    expect(await page('?limit=100')).toEqual([1, 100, newestFirst]);
    expect(await page('?limit=1&page=27')).toEqual([27, 1, newestFirst.slice(26)]);
    expect(await page('?page=1000000')).toEqual([1_000_000, 25, []]);
  });

  it('takes from and to as inclusive bounds on createdAt', async () => {
    const { queue, jobs } = await queueWithJobs([undefined, undefined, undefined]);
    const times = jobs.map((job) => job.createdAt);
    const found = async (query: Record<string, string>) => {
      const page = await api.listJobs(queue.id, `?${new URLSearchParams(query)}`);
      expect(page.total).toBe(page.jobs.length);
      return page.jobs.map((job) => job.createdAt).reverse();
    };
    const [first = '', middle = '', last = ''] = times;
    expect(new Set(times).size, 'one call after the other').toBe(3);
    expect(await found({ from: middle })).toEqual([middle, last]);
    expect(await found({ to: middle })).toEqual([first, middle]);
    expect(await found({ from: middle, to: middle })).toEqual([middle]);
    expect(await found({ from: last, to: first })).toEqual([]);
    const inOtherZone = new Date(at(middle) + 2 * HOUR_MS).toISOString().replace('Z', '+02:00');
    expect(await found({ from: inOtherZone, to: inOtherZone })).toEqual([middle]);
  });

  it.each([
    ['pro', 72, () => api],
    ['free', 24, () => free],
  ] as const)('clamps from to the window of the plan %s: %i h', async (_plan, hours, who) => {
    const queue = await createQueue({}, who());
    const before = Date.now();
    for (const query of ['', '?from=2001-01-01T00:00:00Z']) {
      const { appliedFrom } = await who().listJobs(queue.id, query);
      expect(at(appliedFrom)).toBeGreaterThanOrEqual(before - hours * HOUR_MS - 5);
      expect(at(appliedFrom)).toBeLessThanOrEqual(Date.now() - hours * HOUR_MS + 5);
    }
    const from = new Date(before - HOUR_MS).toISOString();
    expect((await who().listJobs(queue.id, `?from=${from}`)).appliedFrom).toBe(from);
  });

  it('finds idempotency keys by a literal, case-insensitive substring', async () => {
    const keys = ['Order-1', 'order-2', '100%', 'a_b', 'axb', 'back\\slash', '.*', '(x)', "it's", '[a-z]', 'Größe'];
    const { queue } = await queueWithJobs([...keys, undefined]);
    const found = async (text: string) => {
      const page = await api.listJobs(queue.id, `?limit=100&${new URLSearchParams({ idempotencyKey: text })}`);
      return page.jobs.map((job) => job.idempotencyKey).sort();
    };
    expect(await found('ORDER')).toEqual(['Order-1', 'order-2']);
    expect(await found('der-2')).toEqual(['order-2']);
    for (const key of ['100%', 'a_b', 'back\\slash', '.*', '(x)', "it's", '[a-z]', 'Größe']) {
      expect(await found(key), key).toEqual([key]);
    }
    expect(await found('%')).toEqual(['100%']);
    expect(await found('_')).toEqual(['a_b']);
    expect(await found('\\')).toEqual(['back\\slash']);
    expect(await found('^order')).toEqual([]);
    expect(await found('x'.repeat(256))).toEqual([]);
  });

  it('takes every status as a filter', async () => {
    const gate = createGate();
    const mixed = await openReceiver(async (request) => {
      const { answer } = request.json().payload as { answer: string };
      if (answer === 'never') await gate.opened;
      return { status: answer === 'dead' ? 500 : 200 };
    });
    const queue = await createQueue({ webhookUrl: mixed.url, maxAttempts: 1 });
    const publish = async (answer: string, delay = 0) =>
      (await api.publish(queue.name, { payload: { answer }, delay })).id;
    const completed = await publish('ok');
    await api.waitForStatus(completed, 'completed');
    const dead = await publish('dead');
    await api.waitForStatus(dead, 'dead');
    await api.updateQueue(queue.id, { mode: 'ack' });
    const awaiting_ack = await publish('ok');
    await api.waitForStatus(awaiting_ack, 'awaiting_ack');
    const processing = await publish('never');
    await api.waitForStatus(processing, 'processing');
    const pending = await publish('ok', 3600);
    for (const [status, id] of Object.entries({ pending, processing, awaiting_ack, completed, dead })) {
      const { jobs, total } = await api.listJobs(queue.id, `?status=${status}`);
      expect([jobs.map((job) => [job.id, job.status]), total]).toEqual([[[id, status]], 1]);
    }
    gate.open();
  });

  it.each([
    ...[
      'page=0',
      'page=-1',
      'page=1.5',
      'page=x',
      'page=',
      'limit=0',
      'limit=101',
      'limit=x',
      'status=held',
      'status=',
    ],
    ...['from=yesterday', 'to=2026-02-30T00:00:00Z', 'from=2026-01-01', 'to=', 'idempotencyKey=%00'],
  ])('400 on ?%s', async (query) => {
    const queue = await createQueue();
    const answer = await api.call('GET', `/v1/queues/${queue.id}/jobs?${query}`);
    expect(answer).toMatchObject({ status: 400, body: refusal });
  });

  it('404 for an unknown queue', async () => {
    const answer = await api.call('GET', `/v1/queues/${UNKNOWN_ID}/jobs`);
    expect(answer).toMatchObject({ status: 404, body: { error: 'queue not found' } });
  });
});

describe.each([
  ['ack', undefined, { status: 'completed', completedAt: DATE_TIME }, 'success', null],
  ['nack', undefined, { status: 'pending', lastError: 'nacked' }, 'nacked', null],
  ['nack', { retryable: false, reason: 'why' }, { status: 'dead', lastError: 'why' }, 'nacked', 'why'],
  ['defer', { retryAfter: 60 }, { status: 'pending', attempts: 0, deferCount: 1 }, 'deferred', null],
  [
    'defer',
    { retryAfter: 60.5, scope: 'job', reason: 'r' },
    { status: 'pending', attempts: 0, deferCount: 1 },
    'deferred',
    'r',
  ],
])('POST /v1/jobs/{id}/%s with %j', (verb, body, changes, status, error) => {
  it('answers 200 with the job as it then is (D20), once', async () => {
    const queue = await createQueue({ mode: 'ack', backoffDelay: 3600 });
    const { id } = await api.publish(queue.name, { payload: { verb } });
    const before = await api.waitForStatus(id, 'awaiting_ack');
    const answer = await api.call<ApiJob>('POST', `/v1/jobs/${id}/${verb}`, body);
    expect(answer.status, answer.text).toBe(200);
    const { scheduledFor, lastError, history } = answer.body;
    const settled = { ...before, ...changes };
    expect(answer.body).toEqual({ ...settled, scheduledFor, lastError, history });
    expect(answer.body).toMatchObject(changes);
    expect(history).toMatchObject([{ attempt: 1, status, webhookStatusCode: 200, timestamp: DATE_TIME }]);
    if (error !== null) expect(history[0]?.error).toBe(error);
    if (verb === 'ack') expect([lastError, history[0]?.error]).toEqual([null, null]);
    expect(await api.call('POST', `/v1/jobs/${id}/${verb}`, body)).toMatchObject({ status: 400, body: refusal });
  });

  it('400 on a queue that is not in ack mode, 404 for an unknown job', async () => {
    const queue = await createQueue();
    const { id } = await api.publish(queue.name, { payload: {}, delay: 3600 });
    expect(await api.call('POST', `/v1/jobs/${id}/${verb}`, body)).toMatchObject({ status: 400, body: refusal });
    const unknown = await api.call('POST', `/v1/jobs/${UNKNOWN_ID}/${verb}`, body);
    expect(unknown).toMatchObject({ status: 404, body: { error: 'job not found' } });
  });
});
