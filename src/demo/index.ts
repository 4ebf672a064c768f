import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { type Answer, PAYLOADS } from './payloads.ts';
import { type DemoReceiver, startReceiver } from './receiver.ts';

/** Starts a service with this configuration. The composition root passes its own function. */
export type StartService = (config: Config) => Promise<{ url: string; stop(): Promise<void> }>;

/** A call of the REST API: the demo is a normal client. */
type Call = <T>(method: 'GET' | 'POST', path: string, body?: string) => Promise<T>;

interface Job {
  id: string;
  status: string;
  history: { status: string }[];
}

type DemoConfig = Config & { bootstrapApiKey: string };

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Bound on every wait: a demo that hangs ends with an error. */
const PATIENCE_MS = 60_000;
const NAME_WIDTH = Math.max(...Object.keys(PAYLOADS).map((name) => name.length));

/**
 * Runs a service, a webhook that misbehaves, and a few payloads, all in this process and on loopback.
 * @returns whether every payload arrived as it was published and every signature was right
 */
export async function runDemo(
  config: Config,
  startService: StartService,
  removeDataDir: (dataDir: string) => Promise<void>,
): Promise<boolean> {
  const abort = new AbortController();
  const interrupt = () => abort.abort(new Error('the demo was interrupted'));
  // The database is a separate process: without a stop it would outlive an interrupted demo.
  for (const signal of SIGNALS) process.on(signal, interrupt);
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-demo-'));
  try {
    console.log('Jobferry demo: a service of its own, a webhook that misbehaves, payloads that are hard to keep\n');
    return await present(demoConfig(config, dataDir), startService, abort);
  } catch (error) {
    // A timer that is aborted throws an error of its own, which hides the reason.
    throw abort.signal.aborted ? abort.signal.reason : error;
  } finally {
    await removeDataDir(dataDir);
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

function demoConfig(config: Config, dataDir: string): DemoConfig {
  return {
    ...config,
    role: 'all',
    host: '127.0.0.1',
    port: 0,
    shutdownDelayMs: 0,
    dataDir,
    databaseUrl: undefined,
    directDatabaseUrl: undefined,
    replica: null,
    bootstrapApiKey: `demo-${randomBytes(16).toString('hex')}`,
    bootstrapPlan: 'pro',
    webhookAllowCidrs: ['127.0.0.0/8'],
    signatureHeader: 'x-service-signature',
  };
}

/** Runs the script with a service and a receiver, and stops both in any case. */
async function present(config: DemoConfig, startService: StartService, abort: AbortController): Promise<boolean> {
  const service = await startService(config);
  try {
    const call = caller(service.url, config.bootstrapApiKey, abort.signal);
    let first: number | null = null;
    const receiver = await startReceiver((jobId, payload, delivery, answer) => {
      first ??= performance.now();
      const ms = `${Math.round(performance.now() - first)} ms`;
      console.log(`  ${ms.padStart(8)}  ${payload.padEnd(NAME_WIDTH)}  delivery ${delivery}: ${wordsFor(answer)}`);
      if (typeof answer === 'number') return;
      // Without its report a job would wait for the ack timeout, which is too long for a demo.
      call('POST', `/jobs/${jobId}/${answer}`, '{}').catch((error: unknown) => abort.abort(error));
    });
    try {
      return await runScript(call, receiver, abort.signal);
    } finally {
      await receiver.close();
    }
  } finally {
    await service.stop();
  }
}

/** @param signal aborts every running and later call */
function caller(baseUrl: string, apiKey: string, signal: AbortSignal): Call {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  return async <T>(method: string, path: string, body?: string) => {
    const response = await fetch(`${baseUrl}/v1${path}`, { method, headers, signal, body: body ?? null });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
}

function wordsFor(answer: Answer): string {
  if (typeof answer === 'string') return `202, and then ${answer === 'ack' ? 'an ack' : 'a nack'}`;
  return answer === 429 ? '429, to wait for a second' : `${answer}`;
}

/** Publishes the payloads to one queue, replays the job that dies, and prints the history of all. */
async function runScript(call: Call, receiver: DemoReceiver, signal: AbortSignal): Promise<boolean> {
  const settings = { mode: 'ack', maxAttempts: 2, backoffType: 'fixed', backoffDelay: 0.5 };
  const queue = JSON.stringify({ name: 'demo', webhookUrl: receiver.url, ...settings });
  const { id: queueId, signingSecret } = await call<{ id: string; signingSecret: string }>('POST', '/queues', queue);
  receiver.expect(signingSecret);

  /** Name of the payload by job id. */
  const published = new Map<string, string>();
  for (const [name, { source }] of Object.entries(PAYLOADS)) {
    const { id } = await call<{ id: string }>('POST', '/queues/demo/jobs', `{"payload":${source}}`);
    published.set(id, name);
  }
  const dead = (await endedJobs(call, queueId, signal)).find((job) => job.status === 'dead');
  if (dead === undefined) throw new Error('no job of the demo died');
  console.log(
    '\n  One job is dead after its last attempt. The webhook is repaired, and the dead letter is replayed.\n',
  );
  const replay = await call<{ jobs: { replayedJobId: string }[] }>(
    'POST',
    `/queues/${queueId}/dlq/replay`,
    '{"all":true}',
  );
  for (const { replayedJobId } of replay.jobs) published.set(replayedJobId, published.get(dead.id) ?? '');

  const jobs = await endedJobs(call, queueId, signal);
  console.log('\n  Status and history of each job:\n');
  for (const [id, name] of published) {
    const job = jobs.find((found) => found.id === id);
    const attempts = job?.history.map(({ status }) => status) ?? [];
    console.log(`  ${name.padEnd(NAME_WIDTH)}  ${job?.status.padEnd(9)}  ${attempts.join(', ')}`);
  }
  const isVerbatim =
    receiver.altered() === 0 && [...published].every(([id, name]) => receiver.arrived.get(id) === name);
  console.log(`\n  every payload arrived byte for byte: ${isVerbatim ? 'yes' : 'NO'}`);
  console.log(`  wrong signatures: ${receiver.wrongSignatures()}`);
  return isVerbatim && receiver.wrongSignatures() === 0;
}

/** Waits until all jobs of the queue have ended. */
async function endedJobs(call: Call, queueId: string, signal: AbortSignal): Promise<Job[]> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const { jobs } = await call<{ jobs: Job[] }>('GET', `/queues/${queueId}/jobs`);
    if (jobs.every(({ status }) => status === 'completed' || status === 'dead')) return jobs;
    if (performance.now() > giveUpAt) throw new Error(`the demo made no progress for ${PATIENCE_MS / 1000} s`);
    await wait(50, undefined, { signal });
  }
}
