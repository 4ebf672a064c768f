import express from 'express';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { z } from 'zod';
import {
  expressHandler,
  fetchHandler,
  type Refusal,
  type WebhookOptions,
} from '../../packages/client/src/webhook/index.ts';
import { createRefusalLog } from '../../packages/client/src/webhook/refusals.ts';
import { buildEnvelope } from '../../src/delivery/envelope.ts';
import { sign } from '../../src/delivery/signature.ts';
import { listen } from '../support/listen.ts';

/** A receiver that refuses a delivery says so where its developer looks. */

const secret = 'whsec_of-the-queue';
const body = buildEnvelope({
  id: 'a'.repeat(24),
  queue: 'emails',
  payload: '{"to":7,"lines":[{}]}',
  attempt: 1,
  maxAttempts: 3,
  createdAt: new Date('2026-01-31T12:00:00.000Z'),
});
const genuine = { 'x-service-signature': sign(body, secret) };
const schema = z.object({ to: z.string(), lines: z.array(z.object({ sku: z.string() })) });

const deliver = (bytes: Uint8Array, headers: Record<string, string>) =>
  new Request('http://localhost/', { method: 'POST', body: new Uint8Array(bytes), headers });

describe('onRefused', () => {
  it.each<[Refusal['cause'], number, Partial<WebhookOptions>, Request]>([
    ['no signature', 401, {}, deliver(body, {})],
    ['wrong signature', 401, { secret: 'of another queue' }, deliver(body, genuine)],
    ['too large', 413, { maxBodyBytes: 10 }, deliver(body, genuine)],
    ['no job', 400, {}, deliver(Buffer.from('[]'), { 'x-service-signature': sign(Buffer.from('[]'), secret) })],
    ['not set up', 500, { secret: '' }, deliver(body, genuine)],
  ])('is called with the cause "%s", and the function is not', async (cause, status, options, request) => {
    const refusals: Refusal[] = [];
    const run = vi.fn();
    const all = { secret, onRefused: (refusal: Refusal) => refusals.push(refusal), ...options } as WebhookOptions;
    expect((await fetchHandler(all, run)(request)).status).toBe(status);
    expect(refusals).toMatchObject([{ cause, status, message: expect.stringMatching(/\S+ \S+/) }]);
    expect(run).not.toHaveBeenCalled();
  });

  it('is called for a body that express.json() has parsed', async () => {
    const refusals: Refusal[] = [];
    const handler = expressHandler({ secret, onRefused: (refusal) => refusals.push(refusal) }, () => undefined);
    const url = await listen(express().use(express.json()).post('/', handler));
    const headers = { ...genuine, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', body: new Uint8Array(body), headers })).status).toBe(500);
    expect(refusals).toMatchObject([{ cause: 'parsed body', message: expect.stringContaining('express.raw') }]);
  });

  it('is called with the problems of a payload, and the job is not tried again', async () => {
    const refusals: Refusal[] = [];
    const run = vi.fn();
    const handle = fetchHandler({ secret, schema, onRefused: (refusal) => refusals.push(refusal) }, run);
    const answer = await handle(deliver(body, genuine));
    expect([answer.status, answer.headers.get('x-jobferry-outcome')]).toEqual([422, 'permanent']);
    const problems = 'to: Expected string, received number; lines.0.sku: Required';
    expect(await answer.json()).toEqual({ error: `the payload does not fit the schema: ${problems}` });
    expect(refusals).toMatchObject([{ cause: 'wrong payload', detail: problems }]);
    expect(run).not.toHaveBeenCalled();
  });
});

describe('without onRefused, the console', () => {
  let said: MockInstance<typeof console.warn>;
  beforeEach(() => {
    said = vi.spyOn(console, 'warn').mockReturnValue();
  });
  afterEach(() => said.mockRestore());

  it('has what to do', async () => {
    await fetchHandler({ secret: 'of another queue' }, () => undefined)(deliver(body, genuine));
    expect(said.mock.calls).toEqual([[expect.stringMatching(/^The webhook handler answered .+ 401: .+signingSecret/)]]);
  });

  it('has each cause once a minute, with the number of those in between', () => {
    let now = 0;
    const log = createRefusalLog(() => now);
    const refused = (cause: Refusal['cause']) => log({ cause, status: 401, message: cause });
    for (let at = 0; at < 5; at += 1) refused('no signature');
    refused('wrong signature');
    now = 60_000;
    refused('no signature');
    const prefix = 'The webhook handler answered a delivery with 401: ';
    expect(said.mock.calls.flat()).toEqual([
      `${prefix}no signature`,
      `${prefix}wrong signature`,
      `${prefix}no signature (4 more in between)`,
    ]);
  });
});
