import { beforeAll, describe, expect, it } from 'vitest';
import {
  createClient,
  type JobferryClient,
  type PublishInput,
  rawJson,
  unwrap,
} from '../../packages/client/src/index.ts';
import { startFlakyProxy } from '../support/flaky-proxy.ts';
import { apiKey, startServedClient } from '../support/served-client.ts';
import { always, waitFor } from '../support/wait-for.ts';

let client: JobferryClient;
let baseUrl: string;

beforeAll(async () => {
  ({ client, baseUrl } = await startServedClient());
});

/** A busy machine may refuse a step of a test with a 503, which is repeated, as every program should. */
function patiently<T>(step: () => Promise<T | null>) {
  return waitFor(() =>
    step().catch((error: unknown) => {
      always(() => {
        if ((error as { status?: number }).status !== 503) throw error;
      });
      return null;
    }),
  );
}

let queuesMade = 0;

/** A paused queue, so that its jobs stay pending. */
async function openQueue(by = client) {
  const name = `many-${++queuesMade}`;
  const { queue } = await patiently(() => by.queues.ensure({ name, webhookUrl: 'http://127.0.0.1:9/' }));
  await patiently(async () => (await by.queues.pause(name)) ?? true);
  return queue;
}

/** @param requests those of the last repetition */
function publishAll(by: JobferryClient, queue: string, jobs: readonly PublishInput[], requests: string[] = []) {
  const keyed = jobs.map((job, n) => ({ idempotencyKey: `job-${n}`, ...job }));
  return patiently(async () => {
    requests.splice(0);
    const answers = await by.jobs.publishMany(queue, keyed);
    return answers.some(({ status }) => status === 503) ? null : answers;
  });
}

/** An outcome for each job, with the reason where it was refused. */
function outcomes(answers: readonly { status: number; body: unknown }[]): string[] {
  return answers.map(({ status, body }) => (status < 300 ? 'published' : `${status} ${JSON.stringify(body)}`));
}

const TOO_LARGE = expect.stringMatching(/^413 .*larger than/);
const TOO_DEEP = expect.stringMatching(/^400 .*"payload":\[".* levels deep/);
const NO_DELAY = expect.stringMatching(/^400 .*"delay":\["/);

describe('publishMany', () => {
  it('publishes as many and as large jobs as there are, by requests that the service takes', async () => {
    const proxy = await startFlakyProxy(baseUrl);
    const careful = createClient({ baseUrl: proxy.url, apiKey, throwIfPayloadDiffers: true });
    const most = Array.from({ length: 2001 }, () => ({ payload: {} }));
    const refused = await publishAll(careful, 'none', most, proxy.requests);
    expect(new Set(outcomes(refused))).toEqual(new Set(['404 {"error":"queue not found"}']));
    expect(proxy.requests).toEqual(Array(3).fill('POST /graphql'));

    const { name } = await openQueue();
    // Quotes take twice the bytes in the text that GraphQL gets:
    // the third payload is below 1 MiB, and that text is not.
    const texts = ['x'.repeat(400_000), 'ä'.repeat(350_000), '"'.repeat(260_000), 'y'.repeat(1_100_000), 'z'];
    const jobs = texts.map((text) => ({ payload: { text } }));
    const published = ['published', 'published', 'published', TOO_LARGE, 'published'];
    expect(outcomes(await publishAll(careful, name, jobs, proxy.requests))).toEqual(published);
    const rest = `POST /v1/queues/${name}/jobs`;
    expect(proxy.requests).toEqual(['POST /graphql', 'POST /graphql', rest, rest, 'POST /graphql']);
    const again = await publishAll(careful, name, jobs);
    expect(again.map(({ status }) => status)).toEqual([200, 200, 200, 413, 200]);

    const others = texts.map((text) => ({ payload: { text: `${text}!` } }));
    // The proxy passes no header on.
    const direct = createClient({ baseUrl, apiKey, throwIfPayloadDiffers: true });
    const answers = await publishAll(direct, name, others);
    expect(answers.map((answer) => 'payloadDiffers' in answer && answer.payloadDiffers)).toEqual([
      ...[true, true, true, false, true],
    ]);
    const differing = { payload: { text: '!' }, idempotencyKey: 'job-2' };
    await expect(direct.jobs.publish({ params: { queueName: name }, body: differing })).rejects.toThrow(/payload/);
  });

  it('publishes jobs together also where the operator has set a lower limit of a body', async () => {
    const small = await startServedClient({ MAX_BODY_BYTES: '20000' });
    const { name } = await openQueue(small.client);
    const jobs = [3, 4000, 5, 9000, 21_000, 15_000, 7].map((length) => ({ payload: { text: 'x'.repeat(length) } }));
    expect(outcomes(await publishAll(small.client, name, jobs))).toEqual([
      ...['published', 'published', 'published', 'published', TOO_LARGE, 'published', 'published'],
    ]);
  });

  it('publishes all jobs but those that are refused, whatever is wrong with them', async () => {
    const text = 'x'.repeat(1_100_000);
    for (const noName of ['', '.', '..']) {
      const answers = await publishAll(client, noName, [{ payload: {} }, { payload: { text } }]);
      expect(outcomes(answers)).toEqual(Array(2).fill('404 {"error":"queue not found"}'));
    }

    const { id, name } = await openQueue();
    const deepText = `{"a":${'['.repeat(6000)}${']'.repeat(6000)}}`;
    let deep: object = {};
    for (let level = 0; level < 100_000; level += 1) deep = { deep };
    const delays = ['5' as never, Number.NaN, Number.POSITIVE_INFINITY];
    const good = { payload: {} };
    const jobs = [
      ...[good, { payload: rawJson(deepText) }, good, { payload: deep }, good],
      ...delays.map((delay) => ({ payload: {}, delay })),
      good,
    ];
    expect(outcomes(await publishAll(client, name, jobs))).toEqual([
      ...['published', TOO_DEEP, 'published', TOO_DEEP, 'published'],
      ...[NO_DELAY, NO_DELAY, NO_DELAY, 'published'],
    ]);
    expect((await unwrap(client.jobs.list({ params: { id } }))).jobs).toHaveLength(4);
  });

  it('publishes good jobs together where one among them has a member of another type', async () => {
    const proxy = await startFlakyProxy(baseUrl);
    const { name } = await openQueue();
    const jobs = Array.from({ length: 64 }, (_, n) => ({ payload: { n }, ...(n === 40 && { delay: '5' as never }) }));
    const by = createClient({ baseUrl: proxy.url, apiKey });
    const answers = outcomes(await publishAll(by, name, jobs, proxy.requests));
    expect(answers.flatMap((outcome, n) => (outcome === 'published' ? [] : [n]))).toEqual([40]);
    expect(proxy.requests.length).toBeLessThan(20);
  });
});
