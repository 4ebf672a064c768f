import { createHmac } from 'node:crypto';
import { request as rawRequest } from 'node:http';
import express from 'express';
import { describe, expect, it, vi } from 'vitest';
import {
  Backpressure,
  expressHandler,
  fetchHandler,
  type Refusal,
  verifySignature,
  type WebhookOptions,
} from '../../packages/client/src/webhook/index.ts';
import { buildEnvelope } from '../../src/delivery/envelope.ts';
import { sign } from '../../src/delivery/signature.ts';
import { asListener, listen } from '../support/listen.ts';

const secret = 'whsec_of-the-queue';
const body = buildEnvelope({
  id: 'a'.repeat(24),
  queue: 'emails',
  payload: '{"n":9007199254740993,"s":"é"}',
  attempt: 2,
  maxAttempts: 3,
  createdAt: new Date('2026-01-31T12:00:00.000Z'),
});
const signature = sign(body, secret);

describe('verifySignature', () => {
  it.each([
    ['a Buffer', body],
    ['a Uint8Array', new Uint8Array(body)],
    ['a part of a larger buffer', new Uint8Array([0, ...body, 0]).subarray(1, -1)],
    ['an ArrayBuffer', new Uint8Array(body).buffer],
    ['a string', body.toString()],
  ])('accepts what the service signs, as %s', async (_name, raw) => {
    expect(await verifySignature(raw, signature, secret)).toBe(true);
  });

  it('agrees with another implementation, for an empty body and any secret', async () => {
    const digest = createHmac('sha256', 'ключ').update('').digest('hex');
    expect(await verifySignature('', `sha256=${digest}`, 'ключ')).toBe(true);
  });

  it('tries every secret', async () => {
    expect(await verifySignature(body, signature, ['other', secret])).toBe(true);
    expect(await verifySignature(body, signature, [secret, 'other'])).toBe(true);
    expect(await verifySignature(body, signature, ['other', 'another'])).toBe(false);
  });

  const tampered = Buffer.from(body.toString().replace('"attempt":2', '"attempt":1'));
  const emptyKey = `sha256=${createHmac('sha256', '').update(body).digest('hex')}`;

  it.each<[string, Buffer, string | null | undefined, string | string[]]>([
    ['a tampered body', tampered, signature, secret],
    ['a body that is cut short', body.subarray(0, -1), signature, secret],
    ['another secret', body, signature, 'other'],
    ['no secret', body, signature, []],
    ['an empty secret', body, emptyKey, ''],
    ['no header', body, null, secret],
    ['an undefined header', body, undefined, secret],
    ['an empty header', body, '', secret],
    ['no prefix', body, signature.slice('sha256='.length), secret],
    ['another algorithm', body, signature.replace('sha256', 'sha512'), secret],
    ['upper case', body, signature.toUpperCase().replace('SHA', 'sha'), secret],
    ['a digest cut short', body, signature.slice(0, -2), secret],
    ['something after the digest', body, `${signature}\n`, secret],
    ['two headers in one', body, `${signature}, ${signature}`, secret],
  ])('refuses %s', async (_name, raw, header, secrets) => {
    expect(await verifySignature(raw, header, secrets)).toBe(false);
  });
});

/** A handler of each kind behind a real server; what they were called with. */
async function serve(options: Partial<Parameters<typeof expressHandler>[0]> = {}) {
  const jobs: unknown[] = [];
  const run = async ({ job }: { job: unknown }) => void jobs.push(job);
  const all = { secret, ...options } as Parameters<typeof expressHandler>[0];
  const app = express().post('/', expressHandler(all, run));
  return { jobs, urls: [await listen(app), await listen(asListener(fetchHandler(all, run)))] };
}

function post(url: string, raw: Buffer | ReadableStream, headers: Record<string, string>): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body: raw as BodyInit, duplex: 'half' } as RequestInit);
}

describe('the Express and the fetch handler', () => {
  it.each<[string, object, Buffer, Record<string, string>]>([
    ['the signature', {}, body, { 'x-service-signature': signature }],
    ['one of two secrets', { secret: undefined, secrets: ['old', secret] }, body, { 'x-service-signature': signature }],
    [
      'the next secret, in a rotation',
      {},
      body,
      { 'x-service-signature': sign(body, 'old'), 'x-service-signature-next': signature },
    ],
    ['a header of another name', { signatureHeader: 'X-Acme-Signature' }, body, { 'x-acme-signature': signature }],
  ])('accept %s', async (_name, options, raw, headers) => {
    const { jobs, urls } = await serve(options);
    for (const url of urls) {
      const response = await post(url, raw, headers);
      expect([response.status, await response.text()]).toEqual([200, '']);
    }
    const job = {
      id: 'a'.repeat(24),
      queue: 'emails',
      payload: { n: 2 ** 53, s: 'é' },
      attempt: 2,
      maxAttempts: 3,
      createdAt: '2026-01-31T12:00:00.000Z',
      raw: body.toString(),
    };
    expect(jobs).toEqual([job, job]);
  });

  it.each<[number, string, object, Buffer, Record<string, string>]>([
    [401, 'a missing header', {}, body, {}],
    [401, 'a wrong secret', { secret: 'other' }, body, { 'x-service-signature': signature }],
    [401, 'a tampered body', {}, Buffer.concat([body, Buffer.from(' ')]), { 'x-service-signature': signature }],
    [401, 'a body that is no JSON and not signed', {}, Buffer.from('{'), { 'x-service-signature': signature }],
    [
      401,
      'the usual header when it has another name',
      { signatureHeader: 'x-a' },
      body,
      { 'x-service-signature': signature },
    ],
    [413, 'a body that is too large', { maxBodyBytes: body.length - 1 }, body, { 'x-service-signature': signature }],
    ...['', '{', 'null', '[]', '{"id":"a"}', body.toString().replace('"attempt":2', '"attempt":"2"'), '{"\xff"'].map(
      (text): [number, string, object, Buffer, Record<string, string>] => {
        const raw = Buffer.from(text, 'latin1');
        return [400, `${JSON.stringify(text)}, signed`, {}, raw, { 'x-service-signature': sign(raw, secret) }];
      },
    ),
  ])('answer %i to %s', async (status, _name, options, raw, headers) => {
    const { jobs, urls } = await serve(options);
    for (const url of urls) {
      const response = await post(url, raw, headers);
      expect(response.status).toBe(status);
      expect(await response.json()).toEqual({ error: expect.any(String) });
    }
    expect(jobs).toEqual([]);
  });

  it('stop reading a body without end', async () => {
    const { urls } = await serve({ maxBodyBytes: 1000 });
    for (const url of urls) {
      const status = await new Promise((resolve, reject) => {
        const req = rawRequest(url, { method: 'POST' }, (res) => resolve(res.statusCode));
        req.on('error', reject);
        // Never ended.
        req.write(Buffer.alloc(5000));
      });
      expect(status).toBe(413);
    }
  });

  it.each<[string, object, RegExp]>([
    ['no secret', {}, /secret/],
    ['an undefined secret', { secret: undefined }, /secret/],
    ['an empty secret', { secret: '' }, /secret/],
    ['no secrets', { secrets: [] }, /secret/],
    ['an empty one of several', { secrets: ['a', ''] }, /secret/],
    ['a function without a secret', { secret: () => undefined }, /secret/],
    [
      'a secret store that fails',
      { secret: () => Promise.reject(new Error('the store is closed')) },
      /store is closed/,
    ],
    ['ack mode without an API key', { secret, mode: 'ack', baseUrl: 'http://127.0.0.1:1' }, /apiKey/],
    ['a baseUrl that is no URL', { secret, baseUrl: 'localhost:8080', apiKey: 'k' }, /baseUrl/],
    ['ack mode without baseUrl', { secret, mode: 'ack', apiKey: () => 'k' }, /baseUrl/],
  ])('can be made with %s, and say it at the first delivery', async (_name, options, message) => {
    const refusals: Refusal[] = [];
    const onRefused = (refusal: Refusal) => refusals.push(refusal);
    const wrong = { ...(options as WebhookOptions), onRefused };
    const run = vi.fn();
    const handlers = [express().post('/', expressHandler(wrong, run)), asListener(fetchHandler(wrong, run))];
    for (const handler of handlers) {
      const answer = await post(await listen(handler), body, { 'x-service-signature': signature });
      expect(answer.status).toBe(500);
      expect(refusals.at(-1)).toMatchObject({ cause: 'not set up', status: 500 });
      expect(String(refusals.at(-1)?.detail)).toMatch(message);
    }
    expect(run).not.toHaveBeenCalled();
  });

  it('call a function for the secret at each delivery', async () => {
    const current = ['old', secret];
    const options = { secret: async () => current.shift() ?? '' };
    const url = await listen(asListener(fetchHandler(options, () => undefined)));
    const send = async () => (await post(url, body, { 'x-service-signature': signature })).status;
    expect([await send(), await send()]).toEqual([401, 200]);
    const several = await listen(asListener(fetchHandler({ secrets: () => ['old', secret] }, () => undefined)));
    expect((await post(several, body, { 'x-service-signature': signature })).status).toBe(200);
  });
});

describe('a body that was read before', () => {
  const headers = { 'x-service-signature': signature, 'content-type': 'application/json' };
  const handler = () => expressHandler({ secret }, () => undefined);

  it('is fine as the Buffer of express.raw(), or of a platform that keeps it', async () => {
    const app = express().post('/', express.raw({ type: '*/*' }), handler());
    expect((await post(await listen(app), body, headers)).status).toBe(200);
    const keep = express.json({ verify: (req, _res, bytes) => Object.assign(req, { rawBody: bytes }) });
    expect((await post(await listen(express().use(keep).post('/', handler())), body, headers)).status).toBe(200);
  });

  it('is measured, too', async () => {
    const small = expressHandler({ secret, maxBodyBytes: 10 }, () => undefined);
    const app = express().post('/', express.raw({ type: '*/*' }), small);
    expect((await post(await listen(app), body, headers)).status).toBe(413);
  });

  it('is read when a parser has let it pass', async () => {
    const app = express()
      .use(express.json({ type: 'application/vnd.other' }))
      .post('/', handler());
    expect((await post(await listen(app), body, headers)).status).toBe(200);
  });

  it('is refused as an object of express.json(), with what to change', async () => {
    const app = express().use(express.json()).post('/', handler());
    const response = await post(await listen(app), body, headers);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: expect.stringMatching(/express\.json.+express\.raw/) });
  });

  it('is refused by the fetch handler, with what to change', async () => {
    const request = new Request('http://localhost/', { method: 'POST', body: new Uint8Array(body), headers });
    await request.text();
    const response = await fetchHandler({ secret }, () => undefined)(request);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ error: expect.stringContaining('as it came in') });
  });
});

describe('Backpressure', () => {
  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('is not for %d seconds', (seconds) => {
    expect(() => new Backpressure(seconds)).toThrow(RangeError);
  });
});
