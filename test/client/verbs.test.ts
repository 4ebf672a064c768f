import { beforeAll, describe, expect, it } from 'vitest';
import {
  createClient,
  JobferryApiError,
  type JobferryClient,
  rawJson,
  unwrap,
} from '../../packages/client/src/index.ts';
import type { Receiver } from '../support/receiver.ts';
import { apiKey, startServedClient, waitForJob } from '../support/served-client.ts';
import { openReceiver } from '../support/service.ts';
import { DATE_TIME, ID, UNKNOWN_ID } from '../support/shapes.ts';

let client: JobferryClient;
let baseUrl: string;
let receiver: Receiver;

beforeAll(async () => {
  ({ client, baseUrl } = await startServedClient());
  receiver = await openReceiver((request) => ({ status: request.path === '/dead' ? 500 : 200 }));
});

let queuesMade = 0;

async function createQueue(settings: { path?: string; mode?: 'ack'; maxAttempts?: number } = {}) {
  const { path = '/', ...rest } = settings;
  const name = `verbs-${++queuesMade}`;
  const { queue } = await client.queues.ensure({ name, webhookUrl: `${receiver.url}${path}`, ...rest });
  return queue;
}

async function publish(queueName: string, body: { delay?: number } = {}): Promise<string> {
  return (await unwrap(client.jobs.publish({ params: { queueName }, body: { payload: { n: 1 }, ...body } }))).id;
}

describe('queues.ensure', () => {
  it('creates a queue, changes what differs, and then nothing', async () => {
    const settings = { name: 'ensured', webhookUrl: 'http://127.0.0.1:9', concurrency: 3 };
    const created = await client.queues.ensure(settings);
    expect(created).toMatchObject({ outcome: 'created', queue: { name: 'ensured', concurrency: 3 } });
    expect(created.signingSecret).toMatch(/^whsec_/);

    expect(await client.queues.ensure(settings)).toEqual({ ...created, outcome: 'unchanged', signingSecret: null });
    const changed = await client.queues.ensure({ ...settings, concurrency: 4, template: 'none-of-this-name' });
    expect(changed).toMatchObject({ outcome: 'updated', queue: { ...created.queue, concurrency: 4 } });
    const { outcome } = await client.queues.ensure({ name: 'ensured', webhookUrl: 'http://127.0.0.1:9/' });
    expect(outcome).toBe('unchanged');
  });

  it('creates one queue when several programs start at once', async () => {
    const settings = { name: 'at-once', webhookUrl: 'http://127.0.0.1:9' };
    const results = await Promise.all([1, 2, 3].map(() => client.queues.ensure(settings)));
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['created', 'unchanged', 'unchanged']);
    expect(new Set(results.map(({ queue }) => queue.id)).size).toBe(1);
  });

  it('takes the secret of a receiver that has one already', async () => {
    const settings = { name: 'own-secret', webhookUrl: receiver.url, mode: 'ack' as const, rateLimitMax: null };
    const signingSecret = 'a-secret-of-thirty-two-characters';
    const created = await client.queues.ensure({ ...settings, signingSecret });
    expect(created).toMatchObject({ outcome: 'created', signingSecret, queue: { mode: 'ack', rateLimitMax: null } });
    const again = await client.queues.ensure({ ...settings, signingSecret: 'another-secret-of-enough-length' });
    expect(again).toMatchObject({ outcome: 'unchanged', signingSecret: null });
    for (const refused of ['short', `enc:v1:deadbeef:${'A'.repeat(64)}`]) {
      const weak = client.queues.ensure({ ...settings, name: 'weak', signingSecret: refused });
      await expect(weak).rejects.toMatchObject({ status: 400, fieldErrors: { signingSecret: [expect.any(String)] } });
    }
  });

  it('tags a queue, and changes nothing for the same tags in another order', async () => {
    const settings = { name: 'tagged', webhookUrl: 'http://127.0.0.1:9', mode: 'ack' as const };
    const created = await client.queues.ensure({ ...settings, tags: ['mail', 'eu'] });
    expect(created).toMatchObject({ outcome: 'created', signingSecret: expect.stringMatching(/^whsec_/) });
    expect((await client.queues.ensure({ ...settings, tags: ['eu', 'mail', 'eu'] })).outcome).toBe('unchanged');
    expect((await client.queues.ensure(settings)).outcome).toBe('unchanged');
    expect((await client.queues.ensure({ ...settings, tags: [] })).outcome).toBe('updated');
    const wrong = client.queues.ensure({ ...settings, tags: ['Mail'] });
    await expect(wrong).rejects.toMatchObject({ status: 400, fieldErrors: { tags: [expect.any(String)] } });
  });

  it('says why all deliveries will be refused, when it has created or changed the queue', async () => {
    const settings = { name: 'inside', webhookUrl: 'http://10.0.0.1/' };
    const warning = expect.stringMatching(/^10\.0\.0\.1 is not a public address/);
    expect(await client.queues.ensure(settings)).toMatchObject({ outcome: 'created', warning });
    expect(await client.queues.ensure(settings)).toMatchObject({ outcome: 'unchanged', warning: null });
    expect(await client.queues.ensure({ ...settings, concurrency: 2 })).toMatchObject({ outcome: 'updated', warning });
    expect(await client.queues.copy('inside', { name: 'inside-too' })).toMatchObject({ warning });
    const tagged = await client.queues.ensure({ ...settings, name: 'inside-tagged', tags: ['eu'] });
    expect(tagged).toMatchObject({ outcome: 'created', warning });
  });

  it('throws what the service refuses', async () => {
    const refused = client.queues.ensure({ name: 'ensured', webhookUrl: 'http://127.0.0.1:9/', maxAttempts: -1 });
    await expect(refused).rejects.toMatchObject({ status: 400, fieldErrors: { maxAttempts: [expect.any(String)] } });
    const name = 'No Name';
    await expect(client.queues.ensure({ name, webhookUrl: 'http://127.0.0.1:9/' })).rejects.toMatchObject({
      status: 400,
      fieldErrors: { name: [expect.any(String)] },
    });
  });
});

describe('verbs of queues', () => {
  it('pause, resume, end a hold and purge', async () => {
    const { name } = await createQueue();
    await client.queues.pause(name);
    const id = await publish(name);
    expect(await client.queues.purge(name, { dryRun: true })).toEqual({ matched: 1, action: null });
    const { matched, action } = await client.queues.purge(name);
    expect([matched, action?.kind]).toEqual([1, 'PURGE_QUEUE']);
    expect(await client.bulkActions.waitForEnd(action?.id ?? '')).toMatchObject({ status: 'COMPLETED', succeeded: 1 });
    expect((await client.jobs.waitForOutcome(id)).status).toBe('dead');

    await client.queues.endHold(name);
    await client.queues.resume(name);
    expect((await client.jobs.waitForOutcome(await publish(name))).status).toBe('completed');
  });

  it('pause, limit and resume several queues at once, and undo it', async () => {
    const [one, two] = [await createQueue(), await createQueue()];
    const names = [one.name, two.name, 'no-such-queue'];
    const { host } = new URL(receiver.url);
    const would = await client.queues.pauseMany({ receiver: host }, { dryRun: true });
    expect(would.queues.map(({ id }) => id)).toEqual(expect.arrayContaining([one.id, two.id]));
    const paused = await client.queues.pauseMany({ names });
    expect(paused.queues.map(({ outcome }) => outcome)).toEqual(['CHANGED', 'CHANGED', 'NOT_FOUND']);
    const { pausedAt } = paused;
    // The undo of a pause that paused nothing must not end the pauses of others.
    const again = await client.queues.pauseMany({ names });
    expect(await client.queues.resumeMany({ names }, { pausedAt: again.pausedAt })).toMatchObject({ changed: 0 });
    const nothing =
      'mutation ($names: [String!]) { resumeQueues(queues: { names: $names }, pausedAt: null) { __typename } }';
    expect(await client.graphql(nothing, { names })).toMatchObject({ resumeQueues: { __typename: 'ValidationError' } });
    expect(await client.queues.resumeMany({ names }, { pausedAt })).toMatchObject({ changed: 2, pausedAt: null });
    expect((await client.queues.endHoldMany({ ids: [one.id] })).changed).toBe(0);

    const limits = { concurrency: 3, rateLimitMax: 9 };
    const limited = await client.queues.limitMany({ ids: [one.id, two.id] }, limits);
    expect(limited.queues[0]).toMatchObject({ name: one.name, concurrency: 5, rateLimitMax: null });
    expect(await client.queues.restoreLimits(limited, limits)).toMatchObject({ changed: 2 });
    const refused = client.queues.limitMany({ names }, { concurrency: 501 });
    await expect(refused).rejects.toMatchObject({ status: 400, fieldErrors: { concurrency: [expect.any(String)] } });
    await expect(client.queues.pauseMany({ receiver: 'nowhere' })).rejects.toMatchObject({ status: 404 });
  });

  it('rotate the signing secret', async () => {
    const { name } = await createQueue();
    const rotated = await client.queues.rotateSecret(name, { overlapSeconds: 60 });
    expect(rotated).toMatchObject({ signingSecret: expect.stringMatching(/^whsec_/), takesOverAt: DATE_TIME });
    await expect(client.queues.rotateSecret(name)).rejects.toMatchObject({ status: 409 });
    await client.queues.finishSecretRotation(name);
    const refused = client.queues.rotateSecret(name, { overlapSeconds: -1 });
    await expect(refused).rejects.toMatchObject({ status: 400, fieldErrors: { overlapSeconds: [expect.any(String)] } });
  });

  it('try the receiver', async () => {
    const { name } = await createQueue({ path: '/dead' });
    expect(await client.queues.checkReceiver(name)).toMatchObject({ webhookStatusCode: 500, error: 'HTTP 500' });
    const findings = await client.queues.examineReceiver(name, { payload: '{"to":"ada"}' });
    expect(findings).toContainEqual({
      name: expect.any(String),
      status: 'FAILED',
      text: expect.any(String),
      advice: expect.any(String),
    });
  });

  it('switch Standard Webhooks, encryption and the mark of production', async () => {
    const { name, id } = await createQueue();
    await client.queues.setStandardWebhooks(name, true);
    await client.queues.markProduction(name, true);
    await client.queues.setPayloadEncryption(name, false);
    const query = 'query ($id: ID!) { queue(id: $id) { standardWebhooks production } }';
    expect(await client.graphql(query, { id })).toEqual({ queue: { standardWebhooks: true, production: true } });
    await expect(client.queues.setPayloadEncryption(name, true)).rejects.toThrow(/ENCRYPTION_KEY/);
  });

  it('set a breaker and remove it', async () => {
    const { name, id } = await createQueue();
    const breakerOf = () =>
      client.graphql('query ($id: ID!) { queue(id: $id) { breaker { failures seconds } } }', { id });
    await client.queues.setBreaker(name, { failures: 10, seconds: 60 });
    expect(await breakerOf()).toEqual({ queue: { breaker: { failures: 10, seconds: 60 } } });
    await client.queues.setBreaker(name, null);
    expect(await breakerOf()).toEqual({ queue: { breaker: null } });
    const refused = client.queues.setBreaker(name, { failures: 1 });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      fieldErrors: { 'breaker.failures': [expect.any(String)] },
    });
    await expect(client.queues.setBreaker(name, {})).rejects.toMatchObject({ status: 400 });
  });

  it('tag a queue, and copy it with all but its name and its secret', async () => {
    const { name } = await createQueue();
    await client.queues.setTags(name, ['mail']);
    await client.queues.setStandardWebhooks(name, true);
    const copy = await client.queues.copy(name, { name: `${name}-copy`, backoffType: 'fixed' });
    expect(copy).toMatchObject({ outcome: 'created', queue: { name: `${name}-copy`, backoffType: 'fixed' } });
    const query = 'query ($id: ID!) { queue(id: $id) { webhookUrl tags standardWebhooks } }';
    const { queue } = await client.graphql<{ queue: object }>(query, { id: copy.queue.id });
    expect(queue).toEqual({ webhookUrl: copy.queue.webhookUrl, tags: ['mail'], standardWebhooks: true });
    await expect(client.queues.copy('none', { name: 'x' })).rejects.toMatchObject({
      call: 'queues.copy(none)',
      status: 404,
      message: expect.stringContaining('queue not found'),
    });
  });

  it('return the secret of a new queue, also if no request succeeds after the one that made it', async () => {
    const { name } = await createQueue();
    let isMade = false;
    const once: typeof globalThis.fetch = async (url, init) => {
      if (isMade) throw new TypeError('the network went away');
      isMade = String(init?.body).includes('createQueue');
      return fetch(url, init);
    };
    const cut = createClient({ baseUrl, apiKey, fetch: once, retries: 0 });
    const settings = { webhookUrl: 'http://10.0.0.1/', tags: ['a'], mode: 'ack' } as const;
    const ways = [
      () => cut.queues.createTagged({ ...settings, name: `${name}-tagged` }),
      () => cut.queues.ensure({ ...settings, name: `${name}-ensured` }),
      () => cut.queues.copy(name, { ...settings, name: `${name}-copied` }),
    ];
    for (const make of ways) {
      isMade = false;
      const { queue, signingSecret } = await make();
      expect(signingSecret).toMatch(/^whsec_/);
      expect(queue).toEqual(await unwrap(client.queues.get({ params: { id: queue.id } })));
    }
    const again = client.queues.createTagged({ ...settings, name: `${name}-tagged` });
    await expect(again).rejects.toMatchObject({ status: 400, fieldErrors: { name: [expect.any(String)] } });
  });

  it('say which queue does not exist', async () => {
    const error = await client.queues.pause('none').catch((refused: unknown) => refused);
    expect(error).toBeInstanceOf(JobferryApiError);
    expect(error).toMatchObject({
      status: 404,
      call: 'queues.pause(none)',
      message: expect.stringMatching(/not found/),
    });
  });
});

describe('verbs of jobs', () => {
  it('publish many, each payload byte for byte, and answer each', async () => {
    const { name } = await createQueue();
    const jobs = [
      { payload: rawJson('{"n":9007199254740993,"n":1e400}'), idempotencyKey: 'a' },
      { payload: { n: 1 }, idempotencyKey: 'a', delay: 5 },
      { payload: {}, delay: -1 },
    ];
    const answers = await client.jobs.publishMany(name, jobs);
    expect(answers).toMatchObject([
      { status: 201, body: { id: ID, status: expect.any(String), createdAt: DATE_TIME } },
      { status: 200, payloadDiffers: true },
      { status: 400, body: { error: { fieldErrors: { delay: [expect.any(String)] } } } },
    ]);
    const [first] = answers;
    if (first === undefined) throw new Error('there is no answer');
    const { id } = (await unwrap<{ status: number; body: unknown }>(first)) as { id: string };
    await client.jobs.waitForOutcome(id);
    const raw = receiver.requests.map((request) => String(request.raw)).find((text) => text.includes(id));
    expect(raw).toContain('{"n":9007199254740993,"n":1e400}');
    expect(await client.jobs.publishMany('none', [{ payload: {} }])).toMatchObject([{ status: 404 }]);
    expect(await client.jobs.publishMany(name, [])).toEqual([]);
  });

  it('cancel and run now, one or all that match', async () => {
    const { name } = await createQueue();
    const [one, two, three, four] = await Promise.all([1, 2, 3, 4].map(() => publish(name, { delay: 3600 })));
    if (one === undefined || two === undefined || three === undefined || four === undefined) throw new Error();
    await client.jobs.cancel(one);
    await expect(client.jobs.cancel(one)).rejects.toMatchObject({ status: 409, call: `jobs.cancel(${one})` });
    await client.jobs.runNow(two);
    expect((await client.jobs.waitForOutcome(two)).status).toBe('completed');

    expect(await client.jobs.runManyNow({ queueNames: [name] }, { dryRun: true })).toMatchObject({ matched: 2 });
    const { action } = await client.jobs.runManyNow({ ids: [three] }, { ratePerSecond: 10 });
    expect(await client.bulkActions.waitForEnd(action?.id ?? '')).toMatchObject({ succeeded: 1 });
    const cancelled = await client.jobs.cancelMany({ queueNames: [name], states: ['SCHEDULED'] });
    await client.bulkActions.waitForEnd(cancelled.action?.id ?? '');
    expect((await client.jobs.waitForOutcome(four)).status).toBe('dead');
    await expect(client.jobs.cancelMany({})).rejects.toThrow(/all: true/);
    await expect(client.jobs.cancel(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
  });

  it('extend the ack deadline and read the progress', async () => {
    const { name } = await createQueue({ mode: 'ack' });
    const id = await publish(name);
    await waitForJob(client, id, ({ status }) => status === 'awaiting_ack');
    expect(await client.jobs.progress(id)).toBeNull();
    const { deadline } = await client.jobs.extend(id, { seconds: 600, progress: 'half', attempt: 1 });
    expect(Date.parse(deadline)).toBeGreaterThan(Date.now() + 500_000);
    expect(await client.jobs.progress(id)).toEqual({ text: 'half', at: DATE_TIME });
    await unwrap(client.jobs.ack({ params: { id } }));
    await expect(client.jobs.extend(id, { seconds: 1 })).rejects.toMatchObject({ status: 400 });
    await expect(client.jobs.progress(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
  });

  it('stop waiting for an outcome when the signal says so', async () => {
    const { name } = await createQueue();
    const id = await publish(name, { delay: 3600 });
    const waiting = client.jobs.waitForOutcome(id, { signal: AbortSignal.timeout(50) });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    await client.jobs.cancel(id);
    await expect(client.jobs.waitForOutcome(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
  });
});

describe('verbs of dead letters and bulk actions', () => {
  it('replay what matches a filter', async () => {
    const { id: queueId, name } = await createQueue({ path: '/dead', maxAttempts: 1 });
    await client.jobs.waitForOutcome(await publish(name));
    const filter = { queueIds: [queueId], replayed: false, reasons: ['ATTEMPTS_EXHAUSTED' as const] };
    expect(await client.deadLetters.replayMatching(filter, { dryRun: true })).toEqual({ matched: 1, action: null });
    await client.queues.pause(name);
    const { action } = await client.deadLetters.replayMatching(filter, { canary: true });
    const id = action?.id ?? '';
    await client.bulkActions.pause(id);
    await client.bulkActions.resume(id);
    await client.bulkActions.cancel(id);
    expect(await client.bulkActions.waitForEnd(id)).toMatchObject({ status: 'CANCELLED' });
    await expect(client.bulkActions.get(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
    await expect(client.bulkActions.cancel(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
  });
});

describe('verbs of keys', () => {
  it('create, list and revoke a key with limits', async () => {
    const created = await client.keys.create({ name: 'shop', scopes: ['PUBLISH'], expiresAt: '2099-01-01T00:00:00Z' });
    const { key, ...shown } = created;
    expect(shown).toMatchObject({ name: 'shop', scopes: ['PUBLISH'], queues: null, lastUsedAt: null });
    // The key of the client, as the audit log names it.
    expect(shown.createdBy).toBe('key-of…ests');
    expect((await client.keys.list()).map(({ id }) => id)).toContain(created.id);
    const limited = createClient({ baseUrl, apiKey: key });
    await expect(limited.keys.list()).rejects.toMatchObject({ status: 403 });
    await client.keys.revoke(created.id);
    await expect(client.keys.create({ scopes: [] })).rejects.toMatchObject({ status: 400 });
    await expect(client.keys.revoke(UNKNOWN_ID)).rejects.toMatchObject({ status: 404 });
    await expect(createClient({ baseUrl, apiKey: 'none' }).keys.list()).rejects.toMatchObject({ status: 401 });
  });
});

describe('graphql', () => {
  it('sends any document, and throws its errors', async () => {
    type Data = { server: { version: string } };
    expect((await client.graphql<Data>('{ server { version } }')).server.version).toEqual(expect.any(String));
    await expect(client.graphql('{ nothing }')).rejects.toThrow(/nothing/);
    await expect(client.graphql('query ($id: ID!) { job(id: $id) { id } }', {})).rejects.toMatchObject({ status: 400 });
  });
});
