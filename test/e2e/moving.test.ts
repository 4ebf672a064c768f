import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type JobferryClient, type QueueCreateInput, unwrap } from '../../packages/client/src/index.ts';
import { startJobferry, type TestJobferry } from '../../packages/client/src/testing/index.ts';
import {
  Backpressure,
  type Delivery,
  expressHandler,
  fetchHandler,
  Permanent,
} from '../../packages/client/src/webhook/index.ts';
import { builtService } from '../support/built.ts';
import { ROOT } from '../support/checkout.ts';
import { asListener, listen } from '../support/listen.ts';
import { waitFor } from '../support/wait-for.ts';

/** docs/moving.md as a reader follows it, with other numbers than those of its examples. */

const document = await readFile(join(ROOT, 'docs/moving.md'), 'utf8');
const [before = '', after = ''] = [...document.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block);

type Work = (delivery: Delivery<Record<string, unknown>>) => unknown;

let jobferry: TestJobferry;

beforeEach(async () => {
  jobferry = await startJobferry({ command: [process.execPath, builtService()] });
  const started = jobferry;
  onTestFinished(() => started.stop());
});

/** A queue, and its receiver in place of a processor. The jobs that were begun, by their members `n`. */
async function move(
  settings: Omit<QueueCreateInput, 'webhookUrl'>,
  work: Work,
  open: typeof expressHandler | typeof fetchHandler = expressHandler,
) {
  const begun: unknown[] = [];
  let secret = '';
  const options = {
    secret: () => secret,
    onError: () => undefined,
    onRefused: () => undefined,
    ...(settings.mode === 'ack' && { mode: 'ack' as const }),
  };
  const both: Work = (delivery) => {
    begun.push(delivery.job.payload.n);
    return work(delivery);
  };
  const handle = open === expressHandler ? expressHandler(options, both) : asListener(fetchHandler(options, both));
  const webhookUrl = await listen((req, res) => void handle(req, res));
  const queue = await jobferry.createQueue({ ...settings, webhookUrl });
  secret = queue.signingSecret;
  const publish = async (...numbers: number[]) => {
    const jobs = numbers.map((n) => ({ payload: { n } }));
    const answers = await jobferry.client.jobs.publishMany(settings.name, jobs);
    return Promise.all(
      answers.map(async (answer) => (await unwrap(answer as { status: 201; body: { id: string } })).id),
    );
  };
  const untilBegun = (...numbers: number[]) =>
    waitFor(() => begun.length >= numbers.length, { message: `${numbers}` }).then(() => expect(begun).toEqual(numbers));
  return { queue, begun, publish, untilBegun };
}

const jobOf = (id: string) => unwrap(jobferry.client.jobs.get({ params: { id } }));
const outcomeOf = (id: string) => jobferry.client.jobs.waitForOutcome(id);
const seconds = (text: string) => Date.parse(text) / 1000;

/** The block of the page that publishes, with other values in it. */
function publishOfPage(client: JobferryClient, values: Readonly<Record<string, string>>): Promise<{ id: string }> {
  const found = (text: string, from: string) => {
    if (!text.includes(from)) throw new Error(`the page has no ${from}`);
    return from;
  };
  const text = Object.entries(values).reduce((all, [from, to]) => all.replaceAll(found(all, from), to), after);
  const run = new Function('client', 'unwrap', `return (async () => { return ${text} })()`);
  return run(client, unwrap) as Promise<{ id: string }>;
}

describe('a job of BullMQ or pg-boss', () => {
  it('has its delay in seconds, and its id as a key for 72 hours', async () => {
    const inMs = Number(/delay: ([\d_]+)/.exec(before)?.[1]?.replaceAll('_', ''));
    expect(Number(/delay: (\d+)/.exec(after)?.[1]) * 1000).toBe(inMs);
    const { begun } = await move({ name: 'invoices' }, () => undefined);
    const ofMine = {
      "'welcome'": "'invoices'",
      "to: 'ada'": 'n: 7',
      'welcome-ada': 'grace-7',
      'delay: 60': 'delay: 4321',
    };
    const publish = () => publishOfPage(jobferry.client, ofMine);
    const { id } = await publish();
    const { scheduledFor, createdAt } = await jobOf(id);
    expect(seconds(scheduledFor) - seconds(createdAt)).toBeCloseTo(4321, 0);
    await jobferry.time.pass('72m');
    expect(begun).toEqual([]);
    await jobferry.time.pass('1m');
    expect([begun, (await jobOf(id)).status]).toEqual([[7], 'completed']);

    await jobferry.time.pass('70h');
    expect((await publish()).id).toBe(id);
    await jobferry.time.pass('1h');
    expect((await publish()).id).not.toBe(id);
  });

  it('has the attempts of its queue, of which the first one counts', async () => {
    expect(/attempts: (\d+)/.exec(before)?.[1]).toBe(/`maxAttempts: (\d+)`/.exec(document)?.[1]);
    const failing = await move({ name: 'orders', maxAttempts: 4, backoffDelay: 11 }, () => {
      throw new Error('no');
    });
    const [id = ''] = await failing.publish(1);
    await jobferry.time.drain();
    expect(failing.begun).toEqual([1, 1, 1, 1]);
    expect(await jobOf(id)).toMatchObject({ status: 'dead', attempts: 4 });

    const permanent = await move({ name: 'strict', maxAttempts: 4 }, () => {
      throw new Permanent('no such customer');
    });
    const [other = ''] = await permanent.publish(2);
    expect(await outcomeOf(other)).toMatchObject({ status: 'dead', attempts: 1 });
    expect(permanent.begun).toEqual([2]);
  });

  it('reports its progress, and moves its deadline', async () => {
    let end = () => {};
    const opened = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { publish } = await move({ name: 'videos', mode: 'ack', ackTimeout: 17 }, async ({ extend }) => {
      await extend(1234, '3 of 8 parts');
      await opened;
    });
    const [id = ''] = await publish(1);
    const progress = await waitFor(() => jobferry.client.jobs.progress(id), { message: 'the progress' });
    expect(progress.text).toBe('3 of 8 parts');
    await jobferry.time.pass('20m');
    expect(await jobOf(id)).toMatchObject({ status: 'awaiting_ack', attempts: 1 });
    end();
    expect(await outcomeOf(id)).toMatchObject({ status: 'completed', attempts: 1 });
  });
});

describe('a limit of a busy API', () => {
  /** The receiver is busy at the first delivery, and not at later ones. */
  const busyOnce = (forSeconds: number): Work => {
    let deliveries = 0;
    return () => {
      deliveries += 1;
      if (deliveries === 1) throw new Backpressure(forSeconds);
    };
  };

  it('holds the one job in standard mode, and the next one is delivered at once', async () => {
    const { publish, untilBegun, begun } = await move({ name: 'maps', concurrency: 1 }, busyOnce(37));
    const [first = '', second = '', third = ''] = await publish(1, 2, 3);
    for (const id of [second, third]) expect(await outcomeOf(id)).toMatchObject({ status: 'completed' });
    await untilBegun(1, 2, 3);
    await jobferry.time.pass('30s');
    expect(begun).toEqual([1, 2, 3]);
    await jobferry.time.pass('8s');
    await untilBegun(1, 2, 3, 1);
    expect(await outcomeOf(first)).toMatchObject({ status: 'completed', attempts: 1, deferCount: 1 });
  });

  it('holds the queue in ack mode, and then releases one job as a probe', async () => {
    const { publish, begun } = await move({ name: 'models', concurrency: 1, mode: 'ack' }, busyOnce(37));
    const ids = await publish(1, 2, 3);
    const isHeld = async () => (await jobferry.time.upcoming()).some(({ reason }) => reason === 'QUEUE_HELD');
    await waitFor(isHeld, { message: 'the hold of the queue' });
    await jobferry.time.pass('30s');
    expect(begun).toEqual([1]);
    await jobferry.time.pass('8s');
    for (const id of ids) expect(await outcomeOf(id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(begun).toHaveLength(4);
  });

  it.each(['standard', 'ack'] as const)('is a rate of the whole queue in %s mode', async (mode) => {
    const limit = { rateLimitMax: 2, rateLimitWindow: 2700 };
    // Windows start at multiples of their length.
    const windowMs = 1000 * limit.rateLimitWindow;
    await jobferry.time.until(new Date(Math.ceil(Date.now() / windowMs) * windowMs + 1000));
    const { publish, begun } = await move({ name: `rated-${mode}`, mode, ...limit }, () => undefined);
    const ids = await publish(1, 2, 3, 4, 5);
    // Jobs of one window are delivered at once, and arrive in any order. Time passes when their outcomes are known.
    const haveCompleted = async (...numbers: number[]) => {
      for (const n of numbers) expect((await outcomeOf(ids[n - 1] ?? '')).status).toBe('completed');
      expect(begun.toSorted()).toEqual(numbers);
    };
    await haveCompleted(1, 2);
    await jobferry.time.pass('44m');
    await haveCompleted(1, 2);
    await jobferry.time.pass('2m');
    await haveCompleted(1, 2, 3, 4);
    await jobferry.time.pass('45m');
    await haveCompleted(1, 2, 3, 4, 5);
  });
});

describe('a task of QStash or Cloud Tasks', () => {
  it('is verified by fetchHandler, and awaited in place of a callback', async () => {
    const { publish, queue } = await move({ name: 'pages' }, () => undefined, fetchHandler);
    const [id = ''] = await publish(8);
    expect((await outcomeOf(id)).status).toBe('completed');
    const forged = { method: 'POST', headers: { 'x-service-signature': '0'.repeat(64) }, body: '{}' };
    expect((await fetch(queue.webhookUrl, forged)).status).toBe(401);
  });

  it('has 3 attempts by default and 25 at most', async () => {
    const url = { webhookUrl: 'http://127.0.0.1:9/' };
    expect((await jobferry.createQueue({ name: 'usual', ...url })).maxAttempts).toBe(3);
    expect((await jobferry.createQueue({ name: 'most', maxAttempts: 25, ...url })).maxAttempts).toBe(25);
    await expect(jobferry.createQueue({ name: 'more', maxAttempts: 26, ...url })).rejects.toMatchObject({
      status: 400,
    });
    const delayed = (delay: number) =>
      jobferry.client.jobs.publish({ params: { queueName: 'usual' }, body: { payload: {}, delay } });
    expect([(await delayed(86_400)).status, (await delayed(86_401)).status]).toEqual([201, 400]);
  });

  it('lives for 24 hours, and leaves a dead letter', async () => {
    const { publish, queue } = await move({ name: 'tasks', maxDefers: 60 }, () => {
      throw new Backpressure(3000);
    });
    const [id = ''] = await publish(1);
    const deadIds = async () => {
      const { jobs } = await unwrap(jobferry.client.deadLetters.list({ params: { id: queue.id } }));
      return jobs.map(({ originalJobId }) => originalJobId);
    };
    await jobferry.time.pass('23h');
    expect([(await jobOf(id)).status, await deadIds()]).toEqual(['pending', []]);
    await jobferry.time.pass('2h');
    expect([(await jobOf(id)).status, await deadIds()]).toEqual(['dead', [id]]);
  });
});
