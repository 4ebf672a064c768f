import { beforeAll, describe, expect, it } from 'vitest';
import type { JobferryClient } from '../../packages/client/src/index.ts';
import { fetchHandler, type HandlerFunction, type WebhookOptions } from '../../packages/client/src/webhook/index.ts';
import { createApi } from '../support/api.ts';
import { type Fault, startFlakyProxy } from '../support/flaky-proxy.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { asListener, listen } from '../support/listen.ts';
import { apiKey, startServedClient, waitForJob } from '../support/served-client.ts';
import { createGate } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** In ack mode the webhook helper reports, and its report gets there or is known to be void. */

let client: JobferryClient;
let serviceUrl: string;

beforeAll(async () => {
  ({ client, baseUrl: serviceUrl } = await startServedClient());
});

let queuesMade = 0;

interface QueueOptions {
  heartbeat?: boolean;
  ackTimeout?: number;
  told?: boolean;
  key?: string;
}

/** A queue that delivers to a helper whose reports pass a proxy. */
async function createAckQueue(run: HandlerFunction<object>, options: QueueOptions = {}) {
  const { ackTimeout = 60, told = false, key = apiKey, heartbeat = false } = options;
  const proxy = await startFlakyProxy(serviceUrl);
  const name = `reports-${++queuesMade}`;
  const settings = { mode: 'ack', ackTimeout, backoffDelay: 0, maxAttempts: 3 } as const;
  const api = createApi(serviceUrl, apiKey);
  const queue = await api.createQueue({ name, webhookUrl: 'http://127.0.0.1:9/', ...settings });
  const errors: unknown[] = [];
  const webhook: WebhookOptions = {
    secret: queue.signingSecret,
    mode: 'ack',
    baseUrl: proxy.url,
    apiKey: key,
    ...(told ? { ackTimeout } : {}),
    heartbeat,
    onError: (error) => errors.push(error),
  };
  // The service waits a second for the outcome of the delivery when a report comes first.
  // A busy machine may take longer.
  const patiently: HandlerFunction<object> = async (delivery) => {
    await waitForJob(client, delivery.job.id, ({ status }) => status !== 'processing');
    return run(delivery);
  };
  const url = await listen(asListener(fetchHandler(webhook, patiently)));
  await api.updateQueue(queue.id, { webhookUrl: url });
  const publish = async () => (await api.publish(name)).id;
  return { proxy, errors, publish };
}

/** Extends the ack deadline to 60 s from now, by GraphQL and not through the handler. */
function extendAck(id: string) {
  const graphql = createGraphQLClient(serviceUrl, apiKey);
  return graphql.query('mutation ($id: ID!) { extendAck(id: $id, seconds: 60) { __typename } }', { id });
}

const isCompleted = ({ status }: { status: string }) => status === 'completed';

describe.concurrent('a report', () => {
  it.each<Fault>(['cut before', 429, 502, 503, 504])('a report that meets "%s" is sent again', async (fault) => {
    const { proxy, errors, publish } = await createAckQueue(() => undefined);
    // The report, the read of the job, and the report again.
    proxy.fail(fault, fault, 'none', fault, 'none');
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job).toMatchObject({ attempts: 1, history: [{ status: 'success' }] });
    const path = `/v1/jobs/${job.id}`;
    const [ack, look] = [`POST ${path}/ack`, `GET ${path}`];
    expect(proxy.requests).toEqual([ack, look, look, ack, look, ack]);
    expect(errors).toEqual([]);
  });

  it.each<[string, HandlerFunction<object>, expected: object]>([
    ['an ack', () => undefined, { status: 'completed' }],
    [
      'a nack',
      () => {
        throw new Error('no');
      },
      { lastError: 'Error: no', history: [{ status: 'nacked' }] },
    ],
    ['a defer of its own', ({ defer }) => defer({ retryAfter: 60, scope: 'job' }), { deferCount: 1 }],
  ])('a report whose answer is lost is known by the job: %s', async (_kind, run, expected) => {
    const settled = createGate();
    const { proxy, errors, publish } = await createAckQueue(async (delivery) => {
      if (delivery.job.attempt > 1) return settled.opened;
      return run(delivery);
    });
    proxy.fail('cut after');
    const id = await publish();
    await waitFor(() => proxy.requests.length === 2, { message: 'the look at the job' });
    expect(await waitForJob(client, id, ({ history }) => history.length > 0)).toMatchObject(expected);
    expect(proxy.requests.map((request) => request.replace(/\/v1.*\//, ''))).toEqual([
      expect.stringMatching(/^POST (ack|nack|defer)$/),
      `GET ${id}`,
    ]);
    expect(errors.filter((error) => String(error) !== 'Error: no')).toEqual([]);
    settled.open();
  });

  it('is given up when the service says that the attempt is over', async () => {
    const { proxy, errors, publish } = await createAckQueue(
      ({ job, nack }) => (job.attempt === 1 ? nack() : nack({ retryable: false })),
      {
        ackTimeout: 1,
        told: true,
      },
    );
    proxy.failAlways('cut before');
    const id = await publish();
    await waitForJob(client, id, ({ history }) => history.length > 0);
    proxy.failAlways('none');
    await waitFor(() => errors.length > 0, { message: 'the refusal' });
    expect(errors[0]).toMatchObject({ name: 'JobferryApiError', status: 400 });
    await waitForJob(client, id, ({ status }) => status === 'dead');
  });

  it('counts after the ack timeout if the ack deadline was extended, and the signal is not aborted', async () => {
    const aborted: boolean[] = [];
    const { proxy, errors, publish } = await createAckQueue(
      async ({ job, signal }) => {
        await extendAck(job.id);
        // The handler reads the job after the time-out, and once more.
        await waitFor(
          () => signal.aborted || proxy.requests.filter((request) => request.startsWith('GET')).length >= 2,
        );
        aborted.push(signal.aborted);
        // The answers of the report and of the read after it.
        proxy.fail(503, 503);
      },
      { ackTimeout: 12, told: true },
    );
    const job = await waitForJob(client, await publish(), isCompleted);
    expect(job).toMatchObject({ attempts: 1, history: [{ status: 'success' }] });
    expect(aborted).toEqual([false]);
    expect(errors).toEqual([]);
  });

  it('counts with a key that may report and not read, and the signal is not aborted', async () => {
    const graphql = createGraphQLClient(serviceUrl, apiKey);
    const made = await graphql.query(
      'mutation { createApiKey(scopes: [REPORT]) { ... on CreateApiKeyPayload { key } } }',
    );
    const aborted: boolean[] = [];
    const { proxy, publish } = await createAckQueue(
      async ({ job, signal }) => {
        await extendAck(job.id);
        await waitFor(() => proxy.requests.some((request) => request.startsWith('GET')));
        // The refusal of the read has been handled when another request has been answered.
        await client.jobs.get({ params: { id: job.id } });
        await new Promise((resolve) => setImmediate(resolve));
        aborted.push(signal.aborted);
      },
      { ackTimeout: 12, told: true, key: made.createApiKey.key },
    );
    await waitForJob(client, await publish(), isCompleted);
    expect(aborted).toEqual([false]);
  });

  it('the report of a run that was too slow ends no later attempt', async () => {
    const second = createGate();
    const slow = createGate();
    const { errors, publish } = await createAckQueue(
      async ({ job, signal }) => {
        if (job.attempt === 1) {
          await second.opened;
          await waitFor(() => signal.aborted, { message: 'the end of the attempt' });
          expect(signal).toMatchObject({ aborted: true, reason: { name: 'TimeoutError' } });
          return;
        }
        await extendAck(job.id);
        second.open();
        await slow.opened;
        throw new Error('the second one fails');
      },
      { ackTimeout: 5, told: true },
    );
    const id = await publish();
    await waitFor(() => errors.length > 0, { message: 'the refusal' });
    expect(errors[0]).toMatchObject({
      status: 400,
      message: `jobs.ack(${id}): attempt 1 is over, attempt 2 is in flight`,
    });
    slow.open();
    const job = await waitForJob(client, id, ({ history }) => history.length > 1);
    expect(job.history.slice(0, 2)).toMatchObject([
      { attempt: 1, status: 'failed', error: 'ack_timeout' },
      { attempt: 2, status: 'nacked', error: 'Error: the second one fails' },
    ]);
  });
});

describe.concurrent('an attempt that takes longer than the ack timeout', () => {
  it('gets a later deadline by a heartbeat, also when some beats fail', async () => {
    const deadlines: string[] = [];
    const { proxy, publish } = await createAckQueue(
      async ({ job }) => {
        const graphql = createGraphQLClient(serviceUrl, apiKey);
        const query = 'query ($id: ID!) { job(id: $id) { attempts { at } ackDeadline } }';
        // Null once the attempt is over: a machine may be too busy for the beats of one.
        const deadline = async (): Promise<string | null> => {
          const { job: seen } = await graphql.query(query, { id: job.id });
          return seen.attempts.length < job.attempt ? seen.ackDeadline : null;
        };
        const first = await deadline();
        if (job.attempt === 1) proxy.fail('cut before', 503);
        const isLater = async () => {
          const now = await deadline();
          return now !== first && { now };
        };
        const { now } = await waitFor(isLater, { message: 'another deadline' });
        if (first !== null && now !== null) deadlines.push(first, now);
      },
      { ackTimeout: 10, heartbeat: true },
    );
    await waitForJob(client, await publish(), isCompleted);
    const [first = '', later = ''] = deadlines;
    expect(Date.parse(later)).toBeGreaterThan(Date.parse(first));
  });

  it('is over for its function when a beat is refused', async () => {
    const reasons: unknown[] = [];
    const { proxy, publish } = await createAckQueue(
      async ({ signal, job }) => {
        if (job.attempt > 1) return;
        await client.jobs.nack({ params: { id: job.id }, body: { reason: 'by an operator' } });
        await waitFor(() => signal.aborted, { message: 'the refused beat' });
        reasons.push(signal.reason);
      },
      // A beat comes after 4 s, long before the deadline.
      { ackTimeout: 12, heartbeat: true },
    );
    await waitForJob(client, await publish(), isCompleted);
    await waitFor(() => reasons.length > 0, { message: 'the end of the attempt' });
    expect(reasons).toMatchObject([{ name: 'TimeoutError' }]);
    // On a busy machine a beat may come before the nack. The job is not read.
    const others = proxy.requests.filter((request) => !request.endsWith('/ack'));
    expect(new Set(others)).toEqual(new Set(['POST /graphql']));
  });

  it('lives by its own extend, which tells the progress', async () => {
    const deadlines: Date[] = [];
    const aborted: boolean[] = [];
    const { proxy, publish } = await createAckQueue(
      async ({ job, signal, extend }) => {
        deadlines.push(await extend(60, 'half of it'));
        const graphql = createGraphQLClient(serviceUrl, apiKey);
        const query = 'query ($id: ID!) { job(id: $id) { progress { text } ackDeadline } }';
        const { job: seen } = await graphql.query(query, { id: job.id });
        expect(seen.progress).toEqual({ text: 'half of it' });
        expect(new Date(seen.ackDeadline)).toEqual(deadlines[0]);
        aborted.push(signal.aborted);
      },
      { ackTimeout: 30, told: true },
    );
    await waitForJob(client, await publish(), isCompleted);
    expect(aborted).toEqual([false]);
    expect(proxy.requests[0]).toBe('POST /graphql');
  });

  it('says that a key without the scope to read cannot extend it', async () => {
    const graphql = createGraphQLClient(serviceUrl, apiKey);
    const made = await graphql.query(
      'mutation { createApiKey(scopes: [REPORT]) { ... on CreateApiKeyPayload { key } } }',
    );
    const { errors, publish } = await createAckQueue(
      () => waitFor(() => errors.length > 0, { message: 'the refused beat' }),
      { ackTimeout: 12, heartbeat: true, key: made.createApiKey.key },
    );
    await waitForJob(client, await publish(), isCompleted);
    expect(errors[0]).toMatchObject({ status: 403, message: expect.stringMatching(/scope/i) });
  });

  it('cannot extend what is no longer its own', async () => {
    const failures: unknown[] = [];
    const { publish } = await createAckQueue(async ({ job, ack, extend }) => {
      await ack();
      await extend(60).catch((error: unknown) => failures.push(error));
      expect(job.attempt).toBe(1);
    });
    const id = await publish();
    await waitFor(() => failures.length > 0, { message: 'the refusal' });
    expect(failures[0]).toMatchObject({ name: 'JobferryApiError', status: 400, call: `extendAck(${id})` });
  });
});
