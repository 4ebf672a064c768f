import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { at, startService } from '../support/service.ts';
import { DATE_TIME, fieldRefusal, ID, refusal } from '../support/shapes.ts';

/** Spec "Queues", on the real service: every route, every field, every bound. */

let api: Api;
let free: Api;
/** The queue of the refused updates. */
let untouched: ApiQueue;

beforeAll(async () => {
  const service = await startService();
  api = service.api;
  free = createApi(service.jobferry.baseUrl, (await createAccount(service.databaseUrl, 'free')).key);
  untouched = await api.createQueue({ name: 'untouched', webhookUrl: WEBHOOK });
});

const WEBHOOK = 'http://127.0.0.1:9/hook';
const DEFAULTS = {
  maxAttempts: 3,
  maxDefers: 50,
  concurrency: 5,
  dlqEnabled: true,
  mode: 'standard',
  rateLimitMax: null,
  rateLimitWindow: 60,
  ackTimeout: 300,
  ackTimeoutAction: 'retry',
  backoffType: 'exponential',
  backoffDelay: 2,
};

let names = 0;
const newName = () => `routes-${++names}`;

/** Creates a queue for one test. Its concurrency must not count against the other tests' sum. */
async function create(body: object, by = api): Promise<ApiQueue> {
  const answer = await by.call<ApiQueue>('POST', '/v1/queues', { name: newName(), webhookUrl: WEBHOOK, ...body });
  expect(answer.status, answer.text).toBe(201);
  onTestFinished(async () => {
    await by.call('DELETE', `/v1/queues/${answer.body.id}`);
  });
  return answer.body;
}

function withoutSecret({ signingSecret: _, ...queue }: ApiQueue): object {
  return queue;
}

describe('POST /v1/queues', () => {
  it('answers every field, with the defaults of the spec and the secret', async () => {
    const before = Date.now();
    const name = newName();
    const queue = await create({ name });
    expect(queue).toEqual({
      id: ID,
      name,
      webhookUrl: WEBHOOK,
      ...DEFAULTS,
      signingSecret: expect.stringMatching(/^\S{32,}$/),
      createdAt: DATE_TIME,
    });
    expect(at(queue.createdAt)).toBeGreaterThanOrEqual(before - 5);
    expect(at(queue.createdAt)).toBeLessThanOrEqual(Date.now() + 5);
    expect((await create({})).signingSecret).not.toBe(queue.signingSecret);
  });

  it.each([
    ['anthropic', { mode: 'ack', ackTimeout: 600, backoffType: 'exponential' }],
    ['openai', { mode: 'ack', ackTimeout: 300, backoffType: 'exponential' }],
  ])('template %s prefills, and is not part of the answer (D28)', async (template, prefilled) => {
    const queue = await create({ template });
    expect(queue).toMatchObject({ ...DEFAULTS, ...prefilled });
    expect(queue).not.toHaveProperty('template');
    const explicit = { mode: 'standard', ackTimeout: 1.5, backoffType: 'fixed', maxAttempts: 7 };
    expect(await create({ template, ...explicit })).toMatchObject({ ...DEFAULTS, ...prefilled, ...explicit });
  });

  it.each(['Anthropic', 'other', '', '__proto__', 'toString', 1, null])('refuses template %j', async (template) => {
    const answer = await api.call('POST', '/v1/queues', { name: newName(), webhookUrl: WEBHOOK, template });
    expect(answer).toMatchObject({ status: 400, body: fieldRefusal('template') });
  });

  it('names every required field that is missing', async () => {
    const answer = await api.call('POST', '/v1/queues', {});
    expect(answer).toMatchObject({ status: 400, body: fieldRefusal('name', 'webhookUrl') });
  });

  it.each(['-', '_', '9', 'a-b_c9', 'x'.repeat(64)])('takes the name %s', async (name) => {
    expect((await create({ name })).name).toBe(name);
  });

  it.each(['', 'x'.repeat(65), 'A', 'a b', 'a.b', 'a/b', 'a\n', '\u00e9', '\uff41', 'a\0', 1, null])(
    'refuses the name %j',
    async (name) => {
      const answer = await api.call('POST', '/v1/queues', { name, webhookUrl: WEBHOOK });
      expect(answer).toMatchObject({ status: 400, body: fieldRefusal('name') });
    },
  );

  it('refuses a name in use (D23), and takes it again once its queue is deleted', async () => {
    const queue = await create({});
    const again = { name: queue.name, webhookUrl: WEBHOOK };
    const duplicate = await api.call('POST', '/v1/queues', again);
    expect(duplicate).toMatchObject({ status: 400, body: fieldRefusal('name') });
    expect((await api.call('DELETE', `/v1/queues/${queue.id}`)).status).toBe(204);
    const reborn = await create(again);
    expect(reborn.id).not.toBe(queue.id);
    expect(reborn.signingSecret).not.toBe(queue.signingSecret);
    expect((await free.call('POST', '/v1/queues', again)).status, 'another account').toBe(201);
  });
});

/** Values at the bounds, and just outside of them. */
const BOUNDS: [field: string, taken: unknown[], refused: unknown[]][] = [
  ['webhookUrl', ['https://example.com/a?b=c'], ['', 'example.com', 'ftp://example.com/', 'http://', 1, null]],
  ['maxAttempts', [1, 25], [0, 26, 2.5, '3', null]],
  ['maxDefers', [0, 1000], [-1, 1001, 0.5, null]],
  ['concurrency', [1, 101, 500], [0, 501, 1.5, null]],
  ['dlqEnabled', [false, true], ['true', 1, null]],
  ['mode', ['ack', 'standard'], ['ACK', '', null]],
  ['rateLimitMax', [1, 2 ** 31 - 1, null], [0, -1, 1.5, 2 ** 31, '1']],
  ['rateLimitWindow', [0.001, 3600], [0, 0.0009, 3600.001, null]],
  ['ackTimeout', [0.001, 86_400], [0, 0.0009, 86_400.001, null]],
  ['ackTimeoutAction', ['dead', 'retry'], ['Dead', null]],
  ['backoffType', ['fixed', 'exponential'], ['linear', null]],
  ['backoffDelay', [0, 0.5, 3600], [-0.001, 3600.001, null]],
];

describe.each(BOUNDS)('%s', (field, taken, refused) => {
  it.each(taken)('takes %j, in create and in update', async (value) => {
    const created = await create({ [field]: value });
    expect(created).toMatchObject({ [field]: value });
    expect((await api.call('GET', `/v1/queues/${created.id}`)).body).toEqual(withoutSecret(created));
    await api.call('DELETE', `/v1/queues/${created.id}`); // 500 twice is all that an account has

    const plain = await create({});
    const updated = await api.call('PUT', `/v1/queues/${plain.id}`, { [field]: value });
    expect(updated).toMatchObject({ status: 200, body: { ...withoutSecret(plain), [field]: value } });
  });

  it.each(refused)('refuses %j, in create and in update', async (value) => {
    const created = await api.call('POST', '/v1/queues', { name: newName(), webhookUrl: WEBHOOK, [field]: value });
    expect(created).toMatchObject({ status: 400, body: fieldRefusal(field) });
    const updated = await api.call('PUT', `/v1/queues/${untouched.id}`, { [field]: value });
    expect(updated).toMatchObject({ status: 400, body: fieldRefusal(field) });
    expect((await api.call('GET', `/v1/queues/${untouched.id}`)).body).toEqual(withoutSecret(untouched));
  });
});

describe('GET and PUT /v1/queues/{id}', () => {
  it('answer every field but the secret and the template', async () => {
    const created = await create({ template: 'openai', rateLimitMax: 5 });
    const path = `/v1/queues/${created.id}`;
    expect(await api.call('GET', path)).toMatchObject({ status: 200, body: withoutSecret(created) });
    expect((await api.call('GET', path)).body).toEqual(withoutSecret(created));
    const changes = { maxAttempts: 9, rateLimitMax: null, webhookUrl: `${WEBHOOK}/2` };
    expect((await api.call('PUT', path, changes)).body).toEqual({ ...withoutSecret(created), ...changes });
    expect((await api.call('PUT', path, {})).body, 'nothing').toEqual({ ...withoutSecret(created), ...changes });
    expect((await api.call('GET', path)).body).toEqual({ ...withoutSecret(created), ...changes });
  });

  it('let get, edit, put work: the present name and unknown fields are taken (D24)', async () => {
    const created = await create({});
    const path = `/v1/queues/${created.id}`;
    const { body } = await api.call<object>('GET', path);
    const edited = { ...body, backoffDelay: 3, unknown: true, id: 'x', createdAt: 'x' };
    expect(await api.call('PUT', path, edited)).toMatchObject({ status: 200, body: { ...body, backoffDelay: 3 } });
  });

  it.each([
    ['name', 'another'],
    ['name', null],
    ['template', 'openai'],
    ['template', null],
  ])('refuse a change of %s to %j, and change nothing (D24)', async (field, value) => {
    const created = await create({});
    const answer = await api.call('PUT', `/v1/queues/${created.id}`, { [field]: value, maxAttempts: 9 });
    expect(answer).toMatchObject({ status: 400, body: fieldRefusal(field) });
    expect((await api.call('GET', `/v1/queues/${created.id}`)).body).toEqual(withoutSecret(created));
  });
});

describe('GET /v1/queues', () => {
  it('lists the live queues of the account without their secrets', async () => {
    const [first, second] = [await create({}), await create({ mode: 'ack' })];
    const { status, body, text } = await api.call<ApiQueue[]>('GET', '/v1/queues');
    expect(status).toBe(200);
    expect(body.filter(({ id }) => [first.id, second.id].includes(id))).toEqual([first, second].map(withoutSecret));
    expect(text).not.toContain('igningSecret');
    await api.call('DELETE', `/v1/queues/${first.id}`);
    const left = (await api.call<ApiQueue[]>('GET', '/v1/queues')).body.map(({ id }) => id);
    expect(left).toContain(second.id);
    expect(left).not.toContain(first.id);
  });
});

describe('DELETE /v1/queues/{id}', () => {
  it('answers nothing, once; what was published stays readable (D17)', async () => {
    const queue = await create({});
    const path = `/v1/queues/${queue.id}`;
    const { id } = await api.publish(queue.name, { payload: { kept: 1 }, delay: 3600 });
    const deleted = await api.call('DELETE', path);
    expect([deleted.status, deleted.text]).toEqual([204, '']);

    const gone = { status: 404, body: { error: 'queue not found' } };
    expect(await api.call('DELETE', path)).toMatchObject(gone);
    expect(await api.call('GET', path)).toMatchObject(gone);
    expect(await api.call('PUT', path, {})).toMatchObject(gone);
    expect(await api.call('GET', `${path}/jobs`)).toMatchObject(gone);
    expect(await api.call('POST', `/v1/queues/${queue.name}/jobs`, { payload: {} })).toMatchObject(gone);
    const job = await api.waitForStatus(id, 'dead');
    expect(job).toMatchObject({ queue: queue.name, payload: { kept: 1 }, lastError: 'queue_deleted', history: [] });
  });
});

describe('plan and account limits', () => {
  it.each([
    ['maxAttempts', 10, 11],
    ['maxDefers', 100, 101],
  ])("403 above the free plan's ceiling of %s", async (field, allowed, above) => {
    const queue = await create({ [field]: allowed }, free);
    const body = { name: newName(), webhookUrl: WEBHOOK, [field]: above };
    expect(await free.call('POST', '/v1/queues', body)).toMatchObject({ status: 403, body: refusal });
    const update = await free.call('PUT', `/v1/queues/${queue.id}`, { [field]: above });
    expect(update).toMatchObject({ status: 403, body: refusal });
    expect((await free.call('GET', `/v1/queues/${queue.id}`)).body).toEqual(withoutSecret(queue));
  });

  it('403 past the 1000 of an account, naming the total that would result', async () => {
    const before = (await api.call<ApiQueue[]>('GET', '/v1/queues')).body;
    const used = before.reduce((sum, queue) => sum + queue.concurrency, 0);
    const full = await create({ concurrency: 500 });
    const rest = await create({ concurrency: 400 });
    await create({ concurrency: 99 - used });
    const body = { name: newName(), webhookUrl: WEBHOOK, concurrency: 2 };
    const tooMuch = { status: 403, body: { error: expect.stringContaining('1001') } };
    expect(await api.call('POST', '/v1/queues', body)).toMatchObject(tooMuch);
    const raise = { concurrency: rest.concurrency + 2 };
    expect(await api.call('PUT', `/v1/queues/${rest.id}`, raise)).toMatchObject(tooMuch);
    const fits = { concurrency: rest.concurrency + 1 };
    expect((await api.call('PUT', `/v1/queues/${rest.id}`, fits)).status, 'exactly 1000').toBe(200);
    expect((await api.call('PUT', `/v1/queues/${full.id}`, { backoffDelay: 1 })).status, 'another field').toBe(200);
    await api.call('DELETE', `/v1/queues/${full.id}`);
    await create({ concurrency: 500 });
  });
});
