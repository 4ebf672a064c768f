import express from 'express';
import { beforeAll, describe, expect, it } from 'vitest';
import { type JobferryClient, unwrap } from '../../packages/client/src/index.ts';
import {
  Backpressure,
  type DeliveredJob,
  expressHandler,
  fetchHandler,
  type HandlerFunction,
  Permanent,
  type WebhookOptions,
} from '../../packages/client/src/webhook/index.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { asListener, listen } from '../support/listen.ts';
import { apiKey, startServedClient, waitForJob } from '../support/served-client.ts';
import { createGate } from '../support/service.ts';

interface Email {
  to: string;
}

let client: JobferryClient;
let baseUrl: string;

beforeAll(async () => {
  ({ client, baseUrl } = await startServedClient());
});

type Serve = (options: WebhookOptions, run: HandlerFunction<Email>) => Promise<string>;

const KINDS: [string, Serve][] = [
  ['Express', (options, run) => listen(express().post('/hook', expressHandler<Email>(options, run)))],
  ['fetch', (options, run) => listen(asListener(fetchHandler<Email>(options, run)))],
];

let queuesMade = 0;

/** A queue that delivers to the handler. The secret is known only once the queue is there. */
async function createQueue(
  serve: Serve,
  run: HandlerFunction<Email>,
  options: Partial<WebhookOptions> & { mode?: 'standard' | 'ack' | undefined } = {},
) {
  const body = { name: `hook-${++queuesMade}`, webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 0 };
  const queue = await unwrap(client.queues.create({ body: { ...body, mode: options.mode ?? 'standard' } }));
  const url = await serve({ secret: queue.signingSecret, ...options } as WebhookOptions, run);
  await unwrap(client.queues.update({ params: { id: queue.id }, body: { webhookUrl: `${url}/hook` } }));
  const publish = async (payload: Email = { to: 'ada' }) =>
    (await unwrap(client.jobs.publish({ params: { queueName: queue.name }, body: { payload } }))).id;
  return { queue, publish };
}

const isCompleted = ({ status }: { status: string }) => status === 'completed';
const isDead = ({ status }: { status: string }) => status === 'dead';

describe.each(KINDS)('the %s handler in standard mode', (_kind, serve) => {
  it('completes a job, and gives it as it was published', async () => {
    const jobs: DeliveredJob<Email>[] = [];
    const { queue, publish } = await createQueue(serve, async ({ job }) => jobs.push(job));
    const job = await waitForJob(client, await publish({ to: 'grace' }), isCompleted);
    const { id, payload, createdAt, maxAttempts } = job;
    expect(jobs).toEqual([
      { id, queue: queue.name, payload, createdAt, maxAttempts, attempt: 1, raw: expect.stringContaining(id) },
    ]);
    expect(jobs[0]?.payload.to).toBe('grace');
  });

  it('makes a failed attempt of what is thrown, and says so', async () => {
    const errors: unknown[] = [];
    const run: HandlerFunction<Email> = ({ job }) => {
      if (job.attempt === 1) throw new Error('out of stamps');
    };
    const onError = (error: unknown, job: DeliveredJob<unknown>) => errors.push([String(error), job.attempt]);
    const { publish } = await createQueue(serve, run, { onError });
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job.history).toMatchObject([{ status: 'failed', webhookStatusCode: 500 }, { status: 'success' }]);
    expect(errors).toEqual([['Error: out of stamps', 1]]);
  });

  it.each(['thrown', 'returned'])('holds the job for Backpressure that is %s', async (how) => {
    let calls = 0;
    const { publish } = await createQueue(serve, async () => {
      calls += 1;
      if (calls > 1) return undefined;
      if (how === 'thrown') throw new Backpressure(0.1);
      return new Backpressure(0.1);
    });
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job).toMatchObject({ attempts: 1, deferCount: 1 });
    expect(job.history).toMatchObject([{ status: 'deferred', webhookStatusCode: 429 }, { status: 'success' }]);
  });

  it.each(['thrown', 'returned'])('ends the job for Permanent that is %s', async (how) => {
    const { publish } = await createQueue(serve, async () => {
      if (how === 'thrown') throw new Permanent('no such customer');
      return new Permanent('no such customer');
    });
    const job = await waitForJob(client, await publish(), isDead);
    expect(job).toMatchObject({
      attempts: 1,
      maxAttempts: 3,
      lastError: 'HTTP 422',
      history: [{ status: 'failed', error: 'HTTP 422', webhookStatusCode: 422 }],
    });
    const graphql = createGraphQLClient(baseUrl, apiKey);
    const query = 'query ($id: ID!) { job(id: $id) { deadReason attempts { responseBody } } }';
    expect((await graphql.query(query, { id: job.id })).job).toEqual({
      deadReason: 'NACKED',
      attempts: [{ responseBody: '{"error":"no such customer"}' }],
    });
  });

  it('refuses a delivery that is signed with another secret', async () => {
    const options = { secret: 'another', onRefused: () => undefined } as Partial<WebhookOptions>;
    const { publish } = await createQueue(serve, () => undefined, options);
    const isTried = (job: { history: unknown[] }) => job.history.length > 0;
    const job = await waitForJob(client, await publish(), isTried);
    expect(job.history[0]).toMatchObject({ status: 'failed', webhookStatusCode: 401 });
  });

  it('cannot report without baseUrl and apiKey', async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(String(error));
    const { publish } = await createQueue(serve, ({ ack }) => ack(), { onError });
    await waitForJob(client, await publish(), ({ history }) => history.length > 0);
    expect(errors[0]).toBe(
      'Error: ack, nack, defer and extend need the options baseUrl and apiKey, or REPORT_URL in the settings of the service',
    );
  });
});

describe.each(KINDS)('the %s handler in ack mode', (_kind, serve) => {
  const createAckQueue = (run: HandlerFunction<Email>, options: Partial<WebhookOptions> = {}) =>
    createQueue(serve, run, { onError: () => undefined, ...options, mode: 'ack', baseUrl, apiKey });

  it('answers at once, and acks when the function is done', async () => {
    const gate = createGate();
    const { publish } = await createAckQueue(() => gate.opened);
    const id = await publish();
    await waitForJob(client, id, ({ status }) => status === 'awaiting_ack');
    gate.open();
    const job = await waitForJob(client, id, isCompleted);
    expect(job.history).toMatchObject([{ status: 'success', webhookStatusCode: 202 }]);
  });

  it('nacks what is thrown', async () => {
    const errors: unknown[] = [];
    const run: HandlerFunction<Email> = async ({ job }) => {
      if (job.attempt === 1) throw new Error(`half a \ud83d, a \0 and ${'x'.repeat(2000)}`);
    };
    const { publish } = await createAckQueue(run, { onError: (error) => errors.push(error) });
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job.history).toMatchObject([
      { status: 'nacked', error: expect.stringMatching(/^Error: half a \ufffd, a {2}and x+$/) },
      { status: 'success' },
    ]);
    expect(errors).toHaveLength(1);
  });

  it('nacks for good what is Permanent', async () => {
    const { publish } = await createAckQueue(async () => {
      throw new Permanent('no such customer');
    });
    const job = await waitForJob(client, await publish(), isDead);
    expect(job).toMatchObject({ lastError: 'no such customer', history: [{ status: 'nacked' }] });
  });

  it('defers for Backpressure', async () => {
    let calls = 0;
    const { publish } = await createAckQueue(async () => {
      if (++calls === 1) throw new Backpressure(0.1, { reason: 'printer is busy', scope: 'job' });
    });
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job.history).toMatchObject([{ status: 'deferred', error: 'printer is busy' }, { status: 'success' }]);
  });

  it.each<[string, HandlerFunction<Email>, object]>([
    ['ack', ({ ack }) => ack(), { status: 'completed' }],
    [
      'nack',
      async ({ nack }) => {
        await nack({ retryable: false, reason: 'no such address' });
        throw new Error('comes too late to matter');
      },
      { status: 'dead', lastError: 'no such address' },
    ],
    [
      'defer',
      ({ job, defer, nack }) => {
        if (job.attempt > 1) return nack({ retryable: false });
        return defer({ retryAfter: 86_400 * 2, reason: 'next week' });
      },
      { status: 'dead', lastError: 'retry_after_exceeds_lifetime' },
    ],
  ])('leaves it at the %s of the function itself', async (_report, run, expected) => {
    const { publish } = await createAckQueue(run);
    const job = await waitForJob(client, await publish(), (one) => isCompleted(one) || isDead(one));
    expect(job).toMatchObject(expected);
    expect(job.history).toHaveLength(1);
  });
});

describe('a webhook', () => {
  it('can wait for what a serverless runtime must not stop', async () => {
    const waited: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => void waited.push(promise);
    const serve: Serve = (options, run) => {
      const handle = fetchHandler<Email>(options, run);
      return listen(asListener((request) => handle(request, { waitUntil })));
    };
    const { publish } = await createQueue(serve, () => undefined, { mode: 'ack', baseUrl, apiKey });
    const id = await publish();
    await waitForJob(client, id, isCompleted);
    expect(waited).toHaveLength(1);
    await waited[0];
  });

  it('passes on the error of a report that fails', async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const [, serve] = KINDS[0] as [string, Serve];
    const { publish } = await createQueue(serve, () => undefined, { mode: 'ack', baseUrl, apiKey: 'no-key', onError });
    await waitForJob(client, await publish(), ({ status }) => status === 'awaiting_ack');
    await expect.poll(() => errors).toMatchObject([{ name: 'JobferryApiError', status: 401 }]);
  });

  it('accepts deliveries with the old and with the next secret while the secret is rotated', async () => {
    const [, serve] = KINDS[0] as [string, Serve];
    const { queue, publish } = await createQueue(serve, () => undefined);
    const graphql = createGraphQLClient(baseUrl, apiKey);
    const rotation = await graphql.query(
      `mutation ($id: ID!) { rotateSigningSecret(queueId: $id, overlapSeconds: 600) {
        ... on RotateSigningSecretPayload { signingSecret } } }`,
      { id: queue.id },
    );
    const next: string = rotation.rotateSigningSecret.signingSecret;
    await waitForJob(client, await publish(), isCompleted);
    const url = await serve({ secret: next }, () => undefined);
    await unwrap(client.queues.update({ params: { id: queue.id }, body: { webhookUrl: `${url}/hook` } }));
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job.history).toHaveLength(1);
  });
});
