import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount } from '../support/account.ts';
import { type Api, createApi } from '../support/api.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { relayDatabase, type TcpRelay } from '../support/tcp-relay.ts';
import { waitFor } from '../support/wait-for.ts';

/** The log at its most talkative: one wide line per attempt, and nothing that must stay secret (I-32). */

let api: Api;
let jobferry: Jobferry;
let relay: TcpRelay;
/** Texts that may be nowhere in the log. */
const secrets: string[] = [];

beforeAll(async () => {
  const { url } = await createTestDatabase();
  const { key } = await createAccount(url);
  const relayed = await relayDatabase(url);
  relay = relayed.relay;
  // Everything that a log could ever say.
  jobferry = await startJobferry({ databaseUrl: relayed.url, env: { LOG_LEVEL: 'trace' } });
  api = createApi(jobferry.baseUrl, key);
  secrets.push(key, key.slice(3, 30));
  const { password } = new URL(url);
  if (password !== '') secrets.push(password, decodeURIComponent(password));
});

const attemptLines = (jobId: string) => jobferry.logs.filter((line) => line.msg === 'attempt' && line.jobId === jobId);

const PAYLOAD = 'payload-that-stays-secret';
const WRONG_KEY = 'jf_000-wrong-but-a-secret-all-the-same';

describe('an attempt', () => {
  it('is one wide line', async () => {
    const answers = [429, 500, 200];
    const receiver = await openReceiver(() => {
      const status = answers.shift() ?? 200;
      return { status, headers: { 'retry-after': '0' }, body: 'answer-of-the-webhook' };
    });
    const queue = await api.createQueue({ webhookUrl: `${receiver.url}/hook?token=token-in-the-url`, backoffDelay: 0 });
    secrets.push(queue.signingSecret, queue.signingSecret.slice(-40), 'token-in-the-url', 'answer-of-the-webhook');
    const { id } = await api.publish(queue.name, { payload: { text: PAYLOAD }, idempotencyKey: 'a-key' });
    await api.waitForStatus(id, 'completed');
    await waitFor(() => attemptLines(id).length >= 3, { message: 'three lines' });

    const common = { jobId: id, queue: queue.name, queueId: queue.id, maxAttempts: 3, applied: true };
    expect(attemptLines(id)).toMatchObject([
      {
        ...common,
        level: 'debug',
        attempt: 1,
        outcome: 'backpressure',
        statusCode: 429,
        status: 'pending',
        retryInMs: 0,
      },
      {
        ...common,
        level: 'debug',
        attempt: 1,
        outcome: 'failed',
        statusCode: 500,
        error: 'HTTP 500',
        status: 'pending',
      },
      { ...common, level: 'debug', attempt: 2, outcome: 'accepted', statusCode: 200, error: null, status: 'completed' },
    ]);
    for (const line of attemptLines(id)) {
      expect(line).toMatchObject({ time: expect.stringMatching(/Z$/), durationMs: expect.any(Number) });
    }
  });

  it('an attempt that ends a job is logged with that', async () => {
    const receiver = await openReceiver({ status: 500 });
    const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1 });
    const { id } = await api.publish(queue.name, { payload: { text: PAYLOAD } });
    await waitFor(() => attemptLines(id).length > 0, { message: 'the line' });
    const dead = {
      level: 'info',
      status: 'dead',
      deadReason: 'attempts_exhausted',
      error: 'HTTP 500',
      retryInMs: null,
    };
    expect(attemptLines(id)).toMatchObject([dead]);
  });
});

describe('a warning of Node or of a library', () => {
  it('is a line of the log', async () => {
    const warnings = `process.on('SIGCONT', () => process.emitWarning('in two\\nlines', 'OfTheTest'))`;
    const { url } = await createTestDatabase();
    const warned = await startJobferry({
      databaseUrl: url,
      env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(warnings)}` },
    });
    process.kill(warned.pid, 'SIGCONT');
    const line = await waitFor(() => warned.logs.find(({ msg }) => msg === 'a warning of the process'));
    expect(line).toMatchObject({ level: 'warn', err: { type: 'OfTheTest', message: 'in two\nlines' } });
    await warned.kill('SIGTERM');
    expect(warned.output.filter((text) => /lines|OfTheTest/.test(text))).toEqual([]);
  });

  it('a warning about sslmode does not come, because the URL gets the mode that the driver uses', async () => {
    const url = new URL((await createTestDatabase()).url);
    url.search = '?sslmode=require';
    const { stderr } = await runJobferry(['account', 'list'], { DATABASE_URL: url.href });
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(/^jobferry: .*does not support SSL/)]);
  });
});

describe('the whole log', () => {
  it('has no key, no signing secret, no payload and no password, whatever happens', async () => {
    const receiver = await openReceiver();
    const queue = await api.createQueue({ webhookUrl: receiver.url, mode: 'ack' });
    secrets.push(queue.signingSecret, PAYLOAD, WRONG_KEY);
    const path = `/v1/queues/${queue.name}/jobs`;
    const body = { payload: { text: PAYLOAD } };
    const { id } = await api.publish(queue.name, body);
    await api.waitForStatus(id, 'awaiting_ack');
    await createApi(jobferry.baseUrl, WRONG_KEY).call('POST', path, body);
    await api.call('POST', path, `{"payload":{"${PAYLOAD}"`);
    await api.call('POST', path, { payload: PAYLOAD });
    await api.call('POST', `/v1/jobs/${id}/nack`, { reason: PAYLOAD, retryable: false });
    await relay.cut();
    expect((await api.call('POST', path, body)).status).toBe(503);
    expect((await api.call('POST', '/v1/queues', { name: 'x', webhookUrl: receiver.url })).status).toBe(503);
    await relay.heal();
    await waitFor(async () => (await api.call('POST', path, body)).status === 201, { message: 'a publish' });
    expect(await jobferry.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    expect(jobferry.logs.length).toBeGreaterThan(5);
    const everything = [...jobferry.logs.map((line) => JSON.stringify(line)), ...jobferry.output].join('\n');
    expect(secrets.length).toBeGreaterThan(6);
    for (const secret of secrets) expect(everything.includes(secret), secret).toBe(false);
  });

  it('is JSON lines on stderr but for the greeting on stdout', () => {
    const pages = ['/', '/docs', '/graphql'].map((path) => `  ${jobferry.baseUrl}${path} `);
    const greeting = [jobferry.baseUrl, ...pages, 'Sign in to the dashboard', `${jobferry.baseUrl}/sign-in#`];
    const said = jobferry.output.filter((line) => line.trim() !== '');
    expect(said).toEqual(greeting.map((text) => expect.stringContaining(text)));
  });
});
