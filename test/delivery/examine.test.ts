import { createHmac } from 'node:crypto';
import express, { type Express, type RequestHandler } from 'express';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expressHandler } from '../../packages/client/src/webhook/index.ts';
import { type ExaminationOptions, examine } from '../../src/delivery/examine.ts';
import { createSender } from '../../src/delivery/send.ts';
import { type Examined, holdOf, judgeReach } from '../../src/domain/receiver-examination.ts';
import { listen } from '../support/listen.ts';

/** The findings of `queue check` in real receivers, each with one flaw. */

const SECRET = 'whsec_of-the-queue';
const TIMEOUT_MS = 5000;
const DAY_MS = 24 * 3600 * 1000;
const HEADER = 'x-service-signature';
const allowed = { signatureHeader: HEADER, allowCidrs: ['127.0.0.0/8'] };
const sender = createSender({ timeoutMs: TIMEOUT_MS, ...allowed });
const impatient = createSender({ timeoutMs: 1000, ...allowed });
afterAll(() => Promise.all([sender.close(), impatient.close()]));

const ALL = [
  'reachable',
  'wrong signature',
  'missing signature',
  'changed body',
  'next signature',
  'big numbers',
].concat(['duplicate keys', '1 MiB', 'same id twice', 'at once']);

function examineAt(
  webhookUrl: string,
  overrides: Partial<Examined> = {},
  by = sender,
  options: Partial<ExaminationOptions> = {},
) {
  const queue = {
    accountId: 'a',
    queueId: 'q',
    name: 'mails',
    webhookUrl,
    signingSecret: SECRET,
    nextSigningSecret: null,
    standardWebhooks: false,
  };
  const settings = { ackTimeout: null, concurrency: 100, payload: '{"jobferry":"check"}' };
  const receiver: Examined = { ...queue, ...settings, now: new Date('2026-01-31T12:00:00.000Z'), ...overrides };
  return examine(by, receiver, { signatureHeader: HEADER, timeoutMs: TIMEOUT_MS, lifetimeMs: DAY_MS, ...options });
}

/** The findings that are not fine, by name: status, text and advice in one line. */
async function flawsOf(app: Express, overrides: Partial<Examined> = {}, by = sender): Promise<Record<string, string>> {
  const findings = await examineAt(`${await listen(app)}/`, overrides, by);
  const flaws = findings.filter(({ status }) => status !== 'ok');
  return Object.fromEntries(flaws.map(({ name, status, text, advice }) => [name, `${status}: ${text} → ${advice}`]));
}

const raw = express.raw({ type: '*/*', limit: '2mb' });
const digest = (bytes: Buffer | string, secret = SECRET) =>
  `sha256=${createHmac('sha256', secret).update(bytes).digest('hex')}`;
const quietly = { onRefused: () => undefined };
const handler = () => expressHandler({ secret: SECRET, ...quietly }, () => undefined);

/** Verifies both signatures over the raw bytes, and then answers. */
const verified = (answer: RequestHandler, secret = SECRET): Express =>
  express().post('/', raw, (req, res, next) => {
    const given = [req.headers[HEADER], req.headers[`${HEADER}-next`]];
    if (given.includes(digest(req.body, secret))) return answer(req, res, next);
    res.status(401).end();
  });

describe('an examination', () => {
  it('finds nothing in a receiver that does all of it', async () => {
    const findings = await examineAt(`${await listen(express().post('/', handler()))}/`);
    expect(findings.map(({ name, status }) => [name, status])).toEqual(ALL.map((name) => [name, 'ok']));
    expect(findings.at(-1)?.text).toMatch(/^20 requests, 95 % within \d+ of 5000 ms$/);
  });

  it('finds nothing in a receiver that verifies the headers of Standard Webhooks alone, if the queue has them', async () => {
    const secret = `whsec_${'0123456789abcdef'.repeat(4)}`;
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const app = express().post('/', raw, (req, res) => {
      const [id, seconds, signatures] = ['id', 'timestamp', 'signature'].map((name) => req.headers[`webhook-${name}`]);
      const signature = createHmac('sha256', key).update(`${id}.${seconds}.`).update(req.body).digest('base64');
      const isGenuine = String(signatures).split(' ').includes(`v1,${signature}`);
      res.status(isGenuine ? 200 : 401).end();
    });
    expect(await flawsOf(app, { signingSecret: secret, standardWebhooks: true })).toEqual({});
    expect(await flawsOf(app, { signingSecret: secret })).toMatchObject({
      'good signature': expect.stringMatching(/^failed: answered 401/),
    });
  });

  it('finds that nothing is verified', async () => {
    expect(await flawsOf(express().post('/', (_req, res) => void res.end()))).toEqual({
      'wrong signature': expect.stringMatching(/^failed: accepted a wrong signature with 200 → Anyone/),
      'missing signature': expect.stringMatching(/^failed: accepted no signature with 200/),
      'changed body': expect.stringMatching(/^skipped: nothing shows that signatures are verified/),
    });
  });

  it('finds a signature over a parsed body, with the line to change in Express', async () => {
    const app = express().use(express.json({ limit: '2mb' }));
    app.post('/', (req, res) => {
      const given = [req.headers[HEADER], req.headers[`${HEADER}-next`]];
      res.status(given.includes(digest(JSON.stringify(req.body))) ? 200 : 401).end();
    });
    expect(await flawsOf(app)).toEqual({
      'changed body': expect.stringMatching(/^failed: accepted a body with one byte more .+In Express: .+express\.raw/),
      'big numbers': expect.stringMatching(/^failed: answered 401, and 200 to the first.+raw bytes\. In Express/),
      'duplicate keys': expect.stringMatching(/^failed: answered 401/),
    });
  });

  it.each<[string, number, RegExp]>([
    ['another secret', 401, /^good signature: answered 401 .+secret/],
    ['a wrong path', 404, /^reachable: answered 404 .+Compare the path/],
    ['a program that fails', 500, /^reachable: answered 500/],
    ['a redirect', 308, /^no redirect: answered 308 in \d+ ms to \/elsewhere .+follows no redirect/],
  ])('finds %s, and does not go on', async (_flaw, status, first) => {
    let requests = 0;
    const app = express().post('/', (_req, res) => {
      requests += 1;
      res.status(status).set('location', '/elsewhere').end();
    });
    const findings = await examineAt(`${await listen(app)}/`);
    const [{ name, text, advice, ...reach } = { name: '', text: '', advice: '' }, ...others] = findings;
    expect(reach).toEqual({ status: 'failed' });
    expect(`${name}: ${text} → ${advice}`).toMatch(first);
    expect(others.map((finding) => [finding.name, finding.status])).toEqual(
      ALL.slice(1).map((one) => [one, 'skipped']),
    );
    expect(requests).toBe(1);
  });

  it('finds a receiver that does not run', async () => {
    const [first] = await examineAt('http://127.0.0.1:9/');
    expect(first).toMatchObject({ name: 'reachable', status: 'failed', text: 'no answer: connection_refused' });
  });

  it('finds a limit of the body below 1 MiB', async () => {
    const app = express().post('/', express.raw({ type: '*/*' }), handler());
    expect(await flawsOf(app)).toEqual({ '1 MiB': expect.stringMatching(/^failed: answered 413.+In Express: .+2mb/) });
  });

  it('finds a duplicate that is refused', async () => {
    const seen = new Set<string>();
    const app = verified((req, res) => {
      const { id } = JSON.parse(String(req.body));
      res.status(seen.has(id) ? 409 : 200).end();
      seen.add(id);
    });
    expect(await flawsOf(app)).toEqual({ 'same id twice': expect.stringMatching(/^failed: answered 409/) });
  });

  it('warns of a receiver that does not read the signature of a rotation', async () => {
    const app = express().post('/', raw, (req, res) => {
      res.status(req.headers[HEADER] === digest(req.body) ? 200 : 401).end();
    });
    const flaws = await flawsOf(app);
    expect(flaws).toEqual({ 'next signature': expect.stringMatching(/^warning: answered 401.+accept both secrets/) });
  });

  it('signs with both secrets during a rotation', async () => {
    const app = verified((_req, res) => void res.end(), 'the next');
    expect(await flawsOf(app, { nextSigningSecret: 'the next' })).toEqual({});
  });

  it('says how long a 429 would hold a job, and is patient with one', async () => {
    let taken = 0;
    const app = verified((_req, res) => {
      taken += 1;
      // Seven come before those at once, and the second one is repeated.
      if (taken === 2 || taken > 16) res.status(429).set('retry-after', taken === 2 ? '0' : '30');
      res.end();
    });
    const findings = await examineAt(`${await listen(app)}/`);
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(findings.at(-1)?.text).toMatch(/; 12 answered 429\. By its Retry-After a job would be held for 30 s$/);
  });

  it('sees nothing in a receiver that stays busy', async () => {
    let taken = 0;
    const app = express().post('/', (_req, res) => {
      taken += 1;
      res
        .status(taken === 1 ? 200 : 429)
        .set('retry-after', '0')
        .end();
    });
    const flaws = await flawsOf(app, { concurrency: 1 });
    expect(Object.values(flaws).every((text) => text.startsWith('skipped: '))).toBe(true);
    expect(flaws['big numbers']).toMatch(/busy: answered 429/);
  });

  it('does not begin with a busy receiver', async () => {
    const busy = express().post('/', (_req, res) => void res.status(503).set('retry-after', 'soon').end());
    const [first, ...rest] = await examineAt(`${await listen(busy)}/`);
    expect(first).toMatchObject({ name: 'reachable', status: 'warning' });
    expect(first?.text).toMatch(/answered 503 .+ neither seconds nor an HTTP date, so a job would be held for 60 s$/);
    expect(rest.every(({ status }) => status === 'skipped')).toBe(true);
  });

  it('takes a payload that the receiver knows, and passes over its schema', async () => {
    const options = { secret: SECRET, schema: z.object({ to: z.string() }).strict(), ...quietly };
    const app = () =>
      express().post(
        '/',
        expressHandler(options, () => undefined),
      );
    const refused = expect.stringMatching(/^skipped: answered 422: the receiver refuses the additional member/);
    expect(await flawsOf(app(), { payload: '{"to":"ada"}' })).toEqual({
      'big numbers': refused,
      'duplicate keys': refused,
      '1 MiB': refused,
    });
    const flaws = await flawsOf(app());
    expect(flaws.reachable).toMatch(/^warning: answered 422 in \d+ ms to the test payload → .+--payload/);
    // Signatures are verified first, which is seen all the same.
    expect(flaws['wrong signature']).toBe(undefined);
  });

  it('is not sure of a receiver that refuses every payload', async () => {
    const app = express().post('/', (_req, res) => void res.status(422).end());
    const flaws = await flawsOf(app);
    expect(flaws['wrong signature']).toMatch(/^skipped: answered 422 as to a good request/);
    expect(flaws['missing signature']).toMatch(/^skipped/);
  });

  it('sends no more at once than the queue', async () => {
    let [open, most] = [0, 0];
    const app = verified((_req, res) => {
      open += 1;
      most = Math.max(most, open);
      setImmediate(() => {
        open -= 1;
        res.end();
      });
    });
    expect(await flawsOf(app, { concurrency: 1 })).toEqual({});
    expect(most).toBe(1);
  });

  it('sends no further request when its client has left, or its time is over', async () => {
    const leaving = new AbortController();
    let requests = 0;
    const app = verified((_req, res) => {
      requests += 1;
      if (requests === 2) leaving.abort();
      res.end();
    });
    const url = `${await listen(app)}/`;
    const left = await examineAt(url, {}, sender, { signal: leaving.signal });
    expect(requests).toBe(2);
    expect(left.at(-1)).toMatchObject({ status: 'skipped', text: 'not tried, because the client has left' });
    const late = await examineAt(url, {}, sender, { limitMs: 0 });
    expect(requests).toBe(3);
    expect(late.map(({ text }) => text).slice(1)).toEqual(
      ALL.slice(1).map((name) =>
        name === 'changed body' ? expect.any(String) : 'not tried, because the examination took 0 s',
      ),
    );
  });

  it('ends early when the receiver stops answering', async () => {
    let requests = 0;
    const app = express().post('/', (_req, res) => {
      requests += 1;
      if (requests === 1) res.end();
    });
    const flaws = await flawsOf(app, {}, impatient);
    expect(requests).toBe(3);
    expect(flaws['wrong signature']).toMatch(/^failed: no answer: timeout → Answer within the time limit/);
    expect(flaws['at once']).toMatch(/^skipped: not tried, because the receiver does not answer/);
  });
});

describe('a certificate that was not accepted', () => {
  it.each([
    ['CERT_HAS_EXPIRED', /has expired/],
    ['CRL_HAS_EXPIRED', /TLS failed \(CRL_HAS_EXPIRED\)/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /another host name/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /authority/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /authority/],
    ['INVALID_CA', /authority/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /speaks no TLS/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /asks for a certificate/],
    ['SOMETHING_NEW', /TLS failed \(SOMETHING_NEW\)/],
  ])('%s has a sentence of its own', (code, text) => {
    const answer = { kind: 'no_answer', error: 'tls_error', code } as const;
    const finding = judgeReach({ answer, durationMs: 1, headers: {}, body: null }, { now: 0, lifetimeMs: DAY_MS });
    expect(finding).toMatchObject({ name: 'TLS', status: 'failed', text: expect.stringMatching(text) });
  });
});

describe('the time for which a job would be held', () => {
  it.each([
    [null, /^It has no Retry-After, so .+ 60 s$/],
    ['soon', /neither seconds nor an HTTP date, so .+ 60 s$/],
    ['060', /held for 60 s$/],
    ['0.5', /held for 0.5 s$/],
    ['Thu, 01 Jan 1970 00:01:00 GMT', /held for 60 s$/],
    ['172800', /past its lifetime/],
    ['9'.repeat(400), /past its lifetime/],
  ])('is said for %.20s', (retryAfter, text) => {
    expect(holdOf({ retryAfter }, { now: 0, lifetimeMs: DAY_MS })).toMatch(text);
  });
});
