import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createClient, unwrap } from '../../packages/client/src/index.ts';
import { type ExpectedDelivery, startJobferry, type TestJobferry } from '../../packages/client/src/testing/index.ts';
import { builtService } from '../support/built.ts';
import { waitFor } from '../support/wait-for.ts';

/** `startJobferry` and the passing of time, as tests of a receiver use them. */

const command = [process.execPath, builtService()];
let jobferry: TestJobferry;
let webhookUrl: string;
/** Answers of the receiver, in order; 200 when there is none. */
let answers: { status: number; headers?: Record<string, string> }[];

const server = createServer((req: IncomingMessage, res: ServerResponse) => {
  req.resume();
  req.on('end', () => {
    const { status, headers = {} } = answers.shift() ?? { status: 200 };
    res.writeHead(status, headers).end('told');
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  webhookUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(async () => {
  answers = [];
  jobferry = await startJobferry({ command });
  const started = jobferry;
  onTestFinished(() => started.stop());
});

async function publish(body: { delay?: number } = {}): Promise<string> {
  const answer = await jobferry.client.jobs.publish({ params: { queueName: 'mails' }, body: { payload: {}, ...body } });
  return (await unwrap(answer)).id;
}
/** As `expectDelivery`, with the time that a busy machine takes. */
const delivered = (expected: ExpectedDelivery = {}, by = jobferry) =>
  by.expectDelivery({ timeoutMs: 30_000, ...expected });
const statusOf = async (id: string) => (await unwrap(jobferry.client.jobs.get({ params: { id } }))).status;
const reasons = (events: { reason: string }[]) => events.map(({ reason }) => reason);

describe('time passes for', () => {
  it('a delay', async () => {
    await jobferry.createQueue({ name: 'mails', webhookUrl });
    const jobId = await publish({ delay: 3600 });
    expect(await jobferry.time.upcoming()).toMatchObject([{ reason: 'DELAYED', jobId }, { reason: 'LIFETIME' }]);
    expect(await jobferry.time.pass('59m')).toEqual([]);
    expect(await statusOf(jobId)).toBe('pending');
    expect(await jobferry.time.pass('1m')).toMatchObject([{ reason: 'DELAYED', queue: 'mails', jobId }]);
    const seen = await delivered({ jobId });
    expect(seen).toMatchObject({ attempt: 1, statusCode: 200, answer: 'told' });
    // Its time is that of the moved clock, as in the history.
    const { at = '' } = seen as unknown as { at?: string };
    expect(Date.parse(at) - Date.now()).toBeGreaterThan(3_000_000);
    expect(await statusOf(jobId)).toBe('completed');
  });

  it('back-offs, until the dead letter', async () => {
    answers = [{ status: 500 }, { status: 500 }];
    await jobferry.createQueue({ name: 'mails', webhookUrl, maxAttempts: 2, backoffDelay: 3600 });
    const id = await publish();
    await delivered({ attempt: 1, statusCode: 500 });
    expect(reasons(await jobferry.time.next())).toEqual(['BACKOFF']);
    await delivered({ attempt: 2, statusCode: 500 });
    expect(await statusOf(id)).toBe('dead');
    expect(await jobferry.time.upcoming()).toEqual([]);
  });

  it('one job after another until nothing is in flight, and an attempt is seen when its outcome is stored', async () => {
    await jobferry.createQueue({ name: 'mails', webhookUrl, backoffDelay: 60 });
    for (let n = 0; n < 15; n += 1) {
      answers = [{ status: 500 }, { status: 500 }];
      const jobId = await publish();
      await delivered({ jobId, attempt: 1 });
      expect(await statusOf(jobId)).toBe('pending');
      await jobferry.time.drain();
      expect(await statusOf(jobId)).toBe('completed');
    }
  });

  it('a hold that the receiver asks for', async () => {
    answers = [{ status: 429, headers: { 'retry-after': '600' } }];
    await jobferry.createQueue({ name: 'mails', webhookUrl });
    const id = await publish();
    await delivered({ statusCode: 429 });
    const before = await jobferry.time.now();
    expect(reasons(await jobferry.time.next())).toEqual(['HELD']);
    expect((await jobferry.time.now()).getTime() - before.getTime()).toBeGreaterThan(590_000);
    expect(await statusOf(id)).toBe('completed');
  });

  it('ack deadlines', async () => {
    await jobferry.createQueue({ name: 'mails', webhookUrl, mode: 'ack', ackTimeout: 3600, maxAttempts: 1 });
    const id = await publish();
    await delivered();
    expect(reasons(await jobferry.time.next())).toEqual(['ACK_DEADLINE']);
    expect(await statusOf(id)).toBe('dead');
  });

  it('windows of a rate limit', async () => {
    await jobferry.createQueue({ name: 'mails', webhookUrl, rateLimitMax: 1, rateLimitWindow: 3600 });
    const ids = [await publish(), await publish(), await publish()];
    const passed = await jobferry.time.drain();
    expect(new Set(reasons(passed))).toEqual(new Set(['RATE_LIMIT']));
    for (const id of ids) expect(await statusOf(id)).toBe('completed');
  });

  it('lifetimes', async () => {
    const short = await startJobferry({ command, env: { JOB_LIFETIME_SECONDS: '600' } });
    onTestFinished(() => short.stop());
    const settings = { mode: 'ack', ackTimeout: 3600, concurrency: 1 } as const;
    await short.createQueue({ name: 'mails', webhookUrl, ...settings });
    const publishing = { params: { queueName: 'mails' }, body: { payload: {} } };
    await unwrap(short.client.jobs.publish(publishing));
    await delivered({}, short);
    const { id } = await unwrap(short.client.jobs.publish(publishing));
    // A drain ends before them.
    expect(await short.time.drain()).toEqual([]);
    expect(await unwrap(short.client.jobs.get({ params: { id } }))).toMatchObject({ status: 'pending' });
    expect(await short.time.next()).toMatchObject([{ reason: 'LIFETIME', jobId: id }]);
    expect(await unwrap(short.client.jobs.get({ params: { id } }))).toMatchObject({ status: 'dead' });
  });

  it('everything that waits, in order', async () => {
    answers = [{ status: 500 }, { status: 429, headers: { 'retry-after': '60' } }];
    await jobferry.createQueue({ name: 'mails', webhookUrl, backoffDelay: 10 });
    const id = await publish({ delay: 60 });
    expect(reasons(await jobferry.time.drain())).toEqual(['DELAYED', 'BACKOFF', 'HELD']);
    expect(await statusOf(id)).toBe('completed');
  });
});

it('the lifetime of a job begins again when its queue is resumed', async () => {
  const { id } = await jobferry.createQueue({
    name: 'mails',
    webhookUrl,
    mode: 'ack',
    ackTimeout: 86_400,
    concurrency: 1,
  });
  await publish();
  await delivered();
  const waiting = await publish();
  await jobferry.time.pass('2h');
  const mutate = (field: string) =>
    fetch(`${jobferry.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${jobferry.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: `mutation { ${field}(id: "${id}") { __typename } }` }),
    });
  await mutate('pauseQueue');
  await mutate('resumeQueue');
  await jobferry.time.pass('23h');
  expect(await statusOf(waiting)).not.toBe('dead');
});

it('no test sees the attempts of the one before it', async () => {
  await jobferry.createQueue({ name: 'mails', webhookUrl });
  await publish();
  await jobferry.stop();
  const next = await startJobferry({ command });
  onTestFinished(() => next.stop());
  await expect(next.expectDelivery({ timeoutMs: 300 })).rejects.toThrow('None ended.');
});

it('time does not go back, and no text is a duration', async () => {
  await expect(jobferry.time.until(new Date(0))).rejects.toThrow(/only a reset moves it back/);
  await expect(jobferry.time.pass(-1)).rejects.toThrow(/only a reset moves it back/);
  for (const none of ['soon', Number.NaN, Number.POSITIVE_INFINITY]) {
    await expect(jobferry.time.pass(none)).rejects.toThrow(/a duration is/);
  }
  await expect(jobferry.time.pass('99999999999d')).rejects.toThrow(/ten years at most/);
});

it('a delivery that does not come is told with those that came', async () => {
  await jobferry.createQueue({ name: 'mails', webhookUrl });
  const id = await publish();
  await jobferry.time.drain();
  await expect(jobferry.expectDelivery({ statusCode: 418, timeoutMs: 1 })).rejects.toThrow(`${id} attempt 1: 200`);
});

it('each start has an account, and a second one at the same time a server of its own', async () => {
  await jobferry.createQueue({ name: 'mails', webhookUrl });
  const other = await startJobferry({ command });
  onTestFinished(() => other.stop());
  expect(other.url).not.toBe(jobferry.url);
  expect(await unwrap(other.client.queues.list())).toEqual([]);
  const { url, apiKey } = jobferry;
  await jobferry.time.pass('1h');
  await jobferry.stop();
  const next = await startJobferry({ command });
  onTestFinished(() => next.stop());
  expect(next.url).toBe(url);
  expect(await unwrap(next.client.queues.list())).toEqual([]);
  expect(Math.abs((await next.time.now()).getTime() - Date.now())).toBeLessThan(60_000);
  // The account before is suspended.
  const before = createClient({ baseUrl: url, apiKey, retries: 0 });
  const publishing = () => before.jobs.publish({ params: { queueName: 'mails' }, body: { payload: {} } });
  await waitFor(async () => (await publishing()).status === 403, { message: 'the refusal of a publish' });
});

it('a start that fails says why', async () => {
  const broken = startJobferry({ command: [process.execPath, '-e', 'console.error("no disk"); process.exit(3)'] });
  await expect(broken).rejects.toThrow(/jobferry ended: no disk/);
  await expect(startJobferry({ command: ['/no/such/program'] })).rejects.toThrow(/ENOENT/);
});
