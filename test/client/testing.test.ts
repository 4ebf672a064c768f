import express from 'express';
import { describe, expect, it } from 'vitest';
import type { AnyZodObject, ZodTypeAny } from 'zod';
import { JobferryApiError, type JobferryClient, rawJson, unwrap } from '../../packages/client/src/index.ts';
import { problemsIn } from '../../packages/client/src/testing/bounds.ts';
import { createFakeClient, signedDelivery } from '../../packages/client/src/testing/index.ts';
import { type DeliveredJob, expressHandler, fetchHandler } from '../../packages/client/src/webhook/index.ts';
import { contract } from '../../src/contract/index.ts';
import { buildEnvelope } from '../../src/delivery/envelope.ts';
import { sign } from '../../src/delivery/signature.ts';
import { listen } from '../support/listen.ts';

/** `@jobferry/client/testing` gives tests what the service would give. */

const secret = 'whsec_of-the-queue';

describe('signedDelivery', () => {
  it('has the bytes and the signatures of a real delivery', async () => {
    const id = 'a'.repeat(24);
    const createdAt = new Date('2026-01-31T12:00:00.000Z');
    const given = { secret, nextSecret: 'next', id, queue: 'emails', attempt: 2, maxAttempts: 3, createdAt };
    const { body, headers } = await signedDelivery(rawJson('{"n":9007199254740993,"s":"é"}'), given);
    const payload = '{"n":9007199254740993,"s":"é"}';
    const real = buildEnvelope({ id, queue: 'emails', payload, attempt: 2, maxAttempts: 3, createdAt });
    expect(body).toBe(real.toString());
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-signature': sign(real, secret),
      'x-service-signature-next': sign(real, 'next'),
    });
  });

  it('is taken by a receiver of fetch', async () => {
    const seen: DeliveredJob<unknown>[] = [];
    const handle = fetchHandler({ secret }, ({ job }) => seen.push(job));
    const delivery = await signedDelivery({ to: 'ada' }, { secret });
    expect((await handle(new Request('http://test/jobs', delivery))).status).toBe(200);
    expect(seen).toMatchObject([
      { id: delivery.id, queue: 'test', payload: { to: 'ada' }, attempt: 1, maxAttempts: 5 },
    ]);
    expect(delivery.id).toMatch(/^[0-9a-f]{24}$/);
  });

  it('is taken by a receiver over the wire, with another name of the header', async () => {
    const options = { secret, signatureHeader: 'X-Acme-Signature' };
    const url = await listen(
      express().post(
        '/',
        expressHandler(options, () => undefined),
      ),
    );
    expect((await fetch(url, await signedDelivery({}, options))).status).toBe(200);
  });

  it('is refused by a receiver with another secret', async () => {
    const handle = fetchHandler({ secret: 'other', onRefused: () => undefined }, () => undefined);
    expect((await handle(new Request('http://test/', await signedDelivery({}, { secret })))).status).toBe(401);
  });

  it('needs a secret', async () => {
    await expect(signedDelivery({}, { secret: '' })).rejects.toThrow(TypeError);
  });
});

describe('the fake client', () => {
  const publish = (client: JobferryClient, idempotencyKey?: string) =>
    client.jobs.publish({
      params: { queueName: 'emails' },
      body: { payload: { to: 'ada' }, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
    });

  it('records publishes, and answers as the service', async () => {
    const { client, published, clear } = createFakeClient();
    const answer = await publish(client);
    expect(answer).toMatchObject({
      status: 201,
      body: { id: expect.stringMatching(/^[0-9a-f]{24}$/), status: 'pending' },
    });
    await client.jobs.publish({ params: { queueName: 'imports' }, body: { payload: {}, delay: 60 } });
    const { id } = await unwrap(answer);
    expect(published).toEqual([
      { queue: 'emails', payload: { to: 'ada' }, options: {}, jobId: id },
      { queue: 'imports', payload: {}, options: { delay: 60 }, jobId: expect.any(String) },
    ]);
    clear();
    expect(published).toEqual([]);
  });

  it('records one job for each idempotency key of a queue', async () => {
    const { client, published } = createFakeClient();
    const [first, again, other] = [await publish(client, 'a'), await publish(client, 'a'), await publish(client, 'b')];
    expect([first.status, again.status, other.status]).toEqual([201, 200, 201]);
    expect((await unwrap(again)).id).toBe((await unwrap(first)).id);
    expect(published).toHaveLength(2);
  });

  it('checks what the real client checks', async () => {
    const { client } = createFakeClient();
    const typo = { payload: {}, scheduledFor: '2030-01-01' } as { payload: object };
    await expect(client.jobs.publish({ params: { queueName: 'emails' }, body: typo })).rejects.toThrow(
      /did you mean delay/,
    );
    await expect(client.queues.get({ params: { id: '..' } })).rejects.toThrow(TypeError);
  });

  it('answers as it is told, and everything else with a 404 that names the call', async () => {
    const { client, published } = createFakeClient({
      respond: (call) => (call.startsWith('POST') ? { status: 402, body: { error: 'used up' } } : undefined),
    });
    await expect(unwrap(publish(client))).rejects.toMatchObject({
      status: 402,
      message: 'jobs.publish(emails): used up',
    });
    expect(published).toEqual([]);
    const missing = await unwrap(client.jobs.list({ params: { id: 'a'.repeat(24) } })).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(JobferryApiError);
    expect(missing).toMatchObject({ status: 404, message: expect.stringContaining('GET /v1/queues/aaa') });
    await expect(client.queues.endHold('emails')).rejects.toThrow(/endHold/);
  });

  it('keeps queues, which a program can ensure, pause and delete', async () => {
    const { client, queues } = createFakeClient();
    const settings = { name: 'emails', webhookUrl: 'http://127.0.0.1:9001/jobs', concurrency: 7 };
    const created = await client.queues.ensure(settings);
    expect(created).toMatchObject({ outcome: 'created', signingSecret: expect.any(String), queue: { maxAttempts: 3 } });
    expect(await client.queues.ensure(settings)).toMatchObject({ outcome: 'unchanged', signingSecret: null });
    expect(await client.queues.ensure({ ...settings, concurrency: 9 })).toMatchObject({ outcome: 'updated' });
    await client.queues.pause('emails');
    expect(queues).toMatchObject([{ name: 'emails', concurrency: 9, isPaused: true }]);
    await client.queues.resume('emails');
    expect(queues[0]?.isPaused).toBe(false);
    await expect(client.queues.pause('nowhere')).rejects.toMatchObject({ status: 404 });
    await expect(client.queues.ensure({ ...settings, concurrency: 0 })).rejects.toMatchObject({ status: 400 });
    expect(await client.queues.delete({ params: { id: created.queue.id } })).toMatchObject({ status: 204 });
    expect(queues).toEqual([]);
  });

  it('keeps queues with tags and a secret of their own', async () => {
    const { client, queues } = createFakeClient();
    const signingSecret = 'a-secret-of-thirty-two-characters';
    const settings = {
      name: 'emails',
      webhookUrl: 'http://127.0.0.1:9001',
      mode: 'ack' as const,
      tags: ['mail', 'eu'],
    };
    const created = await client.queues.ensure({ ...settings, signingSecret });
    expect(created).toMatchObject({ outcome: 'created', signingSecret, warning: null, queue: { mode: 'ack' } });
    expect(queues).toMatchObject([{ name: 'emails', webhookUrl: 'http://127.0.0.1:9001/', tags: ['eu', 'mail'] }]);
    expect(await client.queues.ensure({ ...settings, signingSecret })).toEqual({
      ...created,
      outcome: 'unchanged',
      signingSecret: null,
    });
    expect(await client.queues.ensure({ ...settings, tags: ['eu'] })).toMatchObject({ outcome: 'updated' });
    expect(queues[0]?.tags).toEqual(['eu']);
    await client.queues.setTags('emails', []);
    expect(queues[0]?.tags).toEqual([]);
    const tagged = await client.queues.createTagged({ ...settings, name: 'tagged' });
    expect(tagged).toMatchObject({ queue: { name: 'tagged' }, signingSecret: expect.stringMatching(/^whsec_/) });
    const listed = await unwrap(client.queues.list());
    expect(listed[0]).toEqual(created.queue);
    for (const refused of [{ tags: ['No Tag'] }, { signingSecret: 'short' }, { concurrency: 0 }])
      await expect(client.queues.ensure({ ...settings, name: 'other', ...refused })).rejects.toMatchObject({
        status: 400,
        fieldErrors: { [Object.keys(refused)[0] ?? '']: expect.anything() },
      });
    expect(queues).toHaveLength(2);
  });

  it('answers the creation of a queue as it is told, with tags or without', async () => {
    const { client, queues } = createFakeClient({
      respond: (call) => (call === 'POST /v1/queues' ? { status: 402, body: { error: 'used up' } } : undefined),
    });
    const settings = { name: 'emails', webhookUrl: 'http://127.0.0.1:9001/jobs' };
    await expect(client.queues.ensure(settings)).rejects.toMatchObject({ status: 402 });
    await expect(client.queues.ensure({ ...settings, tags: ['mail'] })).rejects.toMatchObject({ status: 402 });
    expect(queues).toEqual([]);
  });

  it('refuses a publish that the service refuses, and reads a published job as completed', async () => {
    const { client, published } = createFakeClient();
    const body = (given: object) => given as { payload: object };
    const deep = JSON.parse(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`) as object;
    const bodies = [
      { payload: [1] },
      { payload: {}, delay: 1e9 },
      { payload: {}, idempotencyKey: '' },
      { payload: deep },
    ];
    for (const refused of bodies) {
      const answer = await client.jobs.publish({ params: { queueName: 'emails' }, body: body(refused) });
      expect(answer).toMatchObject({ status: 400, body: { error: { fieldErrors: expect.anything() } } });
    }
    expect(await client.jobs.publish({ params: { queueName: 'No Such' }, body: { payload: {} } })).toMatchObject({
      status: 404,
    });
    const answers = await client.jobs.publishMany('emails', [
      { payload: { n: 1 }, idempotencyKey: 'a' },
      { payload: { n: 2 }, idempotencyKey: 'a' },
      { payload: {}, delay: -1 },
    ]);
    expect(answers).toMatchObject([
      { status: 201, payloadDiffers: false },
      { status: 200, payloadDiffers: true },
      { status: 400, body: { error: { fieldErrors: { delay: [expect.any(String)] } } } },
    ]);
    expect(published).toMatchObject([{ queue: 'emails', payload: { n: 1 }, options: { idempotencyKey: 'a' } }]);
    const done = await client.jobs.waitForOutcome(published[0]?.jobId ?? '');
    expect(done).toMatchObject({ status: 'completed', payload: { n: 1 }, idempotencyKey: 'a' });
  });

  it.each([
    ['publish', contract.jobs.publish.body],
    ['create', contract.queues.create.body],
    ['update', contract.queues.update.body],
  ])('has the bounds of the contract for each member of %s', (_route, body) => {
    const numbers = [
      -1, -0.001, 0, 0.0009, 0.001, 0.5, 1, 1.5, 25, 26, 500, 501, 1000, 1001, 3600, 3600.5, 86_400, 86_401, 1e10,
    ];
    const urls = [
      'http://h',
      'https://h/?q#f',
      'ftp://h',
      'h',
      'http://u@h',
      'http://h:0',
      'http://h\n',
      `http://h/${'é'.repeat(400)}`,
    ];
    const texts = ['', 'a', 'A', 'a b', 'a\0', '\ud800', ...[64, 65, 255, 256].map((length) => 'x'.repeat(length))];
    const faces = [200, 255, 256].map((length) => '😀'.repeat(length));
    const ofType = new Set(['invalid_type', 'invalid_enum_value']);
    const different: unknown[] = [];
    let refused = 0;
    for (const [name, schema] of Object.entries(
      (body as unknown as AnyZodObject).shape as Record<string, ZodTypeAny>,
    )) {
      if (name === 'payload') continue;
      for (const value of [...numbers, ...urls, ...texts, ...faces, null]) {
        const { error } = schema.safeParse(value);
        if (error?.issues.some(({ code }) => ofType.has(code))) continue;
        if (error !== undefined) refused += 1;
        const isRefused = Object.keys(problemsIn({ [name]: value })).length > 0;
        if (isRefused !== (error !== undefined)) different.push([name, value]);
      }
    }
    expect(different).toEqual([]);
    expect(refused).toBeGreaterThan(5);
  });

  it('answers each job of publishMany as it is told', async () => {
    const { client } = createFakeClient({
      respond: (_call, body) =>
        (body as { delay?: number }).delay === 5 ? { status: 402, body: { error: 'no' } } : undefined,
    });
    const answers = await client.jobs.publishMany('emails', [{ payload: {} }, { payload: {}, delay: 5 }]);
    expect(answers.map(({ status }) => status)).toEqual([201, 402]);
  });
});
