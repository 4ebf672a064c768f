import { createClient, unwrap } from '../index.ts';
import type { CreatedQueue, QueueCreateInput } from '../models.ts';
import type { JobferryClient } from '../types.ts';
import type { SeenAttempt, TestServer } from './test-server.ts';
import { type TestTime, timeOf } from './test-time.ts';

/** Argument of `startJobferry`. */
export interface StartOptions {
  /**
   * Program and arguments that run the command `jobferry`. By default that of the package `jobferry`, as the present
   * folder finds it.
   */
  command?: readonly string[] | undefined;
  /**
   * Variables of the service, such as `JOB_RETENTION_SECONDS`.
   * Of those of the present process only `PATH` is passed on.
   */
  env?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds until the start is given up; 60 000 by default, because the first one creates a database. */
  timeoutMs?: number | undefined;
}

/** Which attempt `expectDelivery` waits for: the first that agrees with all that is given. */
export interface ExpectedDelivery {
  /** Name of the queue. */
  queue?: string | undefined;
  /** Id of the job. */
  jobId?: string | undefined;
  /** Number of the attempt. */
  attempt?: number | undefined;
  /** Status code of the receiver's answer; null for no answer. */
  statusCode?: number | null | undefined;
  /** Milliseconds to wait for the attempt to end; 4000 by default. Its outcome may be stored later. */
  timeoutMs?: number | undefined;
}

/** A Jobferry for tests, with an account of its own. */
export interface TestJobferry {
  /** Address of the service. */
  url: string;
  /** Key of the account, with every right. */
  apiKey: string;
  /** A client of the account. */
  client: JobferryClient;
  /** Its clock. Time does not pass faster by itself. */
  time: TestTime;
  /** Creates a queue. The result has its signing secret. */
  createQueue(settings: QueueCreateInput): Promise<CreatedQueue>;
  /**
   * Waits for an attempt to end and its outcome to be stored, and returns it. Each attempt is returned once, in order.
   * @throws Error with the attempts that ended meanwhile, if none agrees in time; or if the outcome is not stored
   */
  expectDelivery(expected?: ExpectedDelivery): Promise<SeenAttempt>;
  /**
   * Ends the use of the service. The service keeps running for the next call of `startJobferry`, until this process
   * ends.
   */
  stop(): Promise<void>;
}

const START_MS = 60_000;
/** Below the 5 s that test frameworks give a test by default, so that this error is the one that is shown. */
const DELIVERY_MS = 4000;
/** A busy machine may take this long to store an outcome. */
const STORED_MS = 20_000;
const STORED_POLL_MS = 5;

/** Services of this process that no test uses at present, by how they were started. */
const free = new Map<string, TestServer>();

/**
 * Starts a real Jobferry with a database of its own, for one test file:
 *
 *     const jobferry = await startJobferry();
 *     const { signingSecret } = await jobferry.createQueue({ name: 'emails', webhookUrl: 'http://127.0.0.1:9001/' });
 *     await jobferry.client.jobs.publish({ params: { queueName: 'emails' }, body: { payload: {}, delay: 3600 } });
 *     await jobferry.time.pass('1h');
 *     await jobferry.expectDelivery({ queue: 'emails', statusCode: 200 });
 *     await jobferry.stop();
 *
 * It needs the package `jobferry`, and works with every test framework. The first start on a machine takes some
 * seconds, because it creates a database to copy; later ones take about two. A call after `stop` in the same process
 * gets the running service, with another account and the clock of the machine.
 */
export async function startJobferry(options: StartOptions = {}): Promise<TestJobferry> {
  const { command, env = {}, timeoutMs = START_MS } = options;
  const key = JSON.stringify([command ?? null, env]);
  const server = free.get(key);
  free.delete(key);
  if (server?.isRunning() === true) return using(server, key);
  const { startTestServer } = await import('./test-server.ts');
  return using(await startTestServer({ command, env, timeoutMs }), key);
}

async function using(server: TestServer, key: string): Promise<TestJobferry> {
  const { url } = server;
  const { apiKey, accountId } = await server.nextAccount().catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  const client = createClient({ baseUrl: url, apiKey });
  const time = timeOf(client);
  const attempts = server.watch(accountId);
  let hasStopped = false;
  return {
    url,
    apiKey,
    client,
    time,
    createQueue: async (settings) => unwrap(await client.queues.create({ body: settings })),
    expectDelivery: async ({ timeoutMs = DELIVERY_MS, ...expected } = {}) => {
      const attempt = await attempts.next(expected, timeoutMs);
      await untilStored(client, attempt);
      return attempt;
    },
    stop: async () => {
      if (hasStopped) return;
      hasStopped = true;
      attempts.end();
      if (!server.isRunning()) return;
      const isUsable = await time.reset().then(
        () => true,
        () => false,
      );
      if (isUsable && !free.has(key)) free.set(key, server);
      else await server.stop();
    },
  };
}

/** An attempt is seen when the receiver has answered. Its outcome is stored milliseconds later. */
async function untilStored(client: JobferryClient, { jobId, attempt }: SeenAttempt): Promise<void> {
  for (const startedAt = performance.now(); performance.now() - startedAt < STORED_MS; ) {
    const { status, body } = await client.jobs.get({ params: { id: jobId } });
    if (status !== 200 || body.status !== 'processing' || body.attempts > attempt) return;
    await new Promise((resolve) => setTimeout(resolve, STORED_POLL_MS));
  }
  throw new Error(`the outcome of attempt ${attempt} of job ${jobId} was not stored within ${STORED_MS} ms`);
}
