import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { createApi, type DemoApi } from './api.ts';
import { printTable } from './progress.ts';
import { startReceiver } from './receiver.ts';
import { type Figures, percentileText, Scenario } from './scenario.ts';

/** Starts a service with this configuration. The composition root passes its own function. */
export type StartService = (config: Config) => Promise<{ url: string; stop(): Promise<void> }>;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs a service, a webhook that misbehaves, and real payloads, all in this process and on loopback.
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
    console.log('Jobferry demo: a service of its own, a webhook that misbehaves, and payloads that are hard to keep\n');
    const figures = await present(demoConfig(config, dataDir), startService, abort);
    printFigures(figures);
    return figures.verbatim && figures.badSignatures === 0;
  } finally {
    await removeDataDir(dataDir);
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

function demoConfig(config: Config, dataDir: string): Config & { bootstrapApiKey: string } {
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

/** Runs the scenario with a service and a receiver, and stops both in any case. */
async function present(
  config: Config & { bootstrapApiKey: string },
  startService: StartService,
  abort: AbortController,
): Promise<Figures> {
  const service = await startService(config);
  try {
    const api = createApi(service.url, config.bootstrapApiKey, abort.signal);
    const report = createReporter(api);
    const receiver = await startReceiver((jobId, delivery) => {
      // Without its report a job would wait for the ack timeout, which is too long for a demo.
      report(jobId, delivery).catch((error: unknown) => abort.abort(error));
    });
    try {
      return await new Scenario(api, receiver, abort.signal).run();
    } finally {
      await receiver.close();
    }
  } finally {
    await service.stop();
  }
}

/** Reports on the jobs of the queue in ack mode: it nacks the first one once, defers the second one once, and acks. */
function createReporter(api: DemoApi): (jobId: string, delivery: number) => Promise<void> {
  let jobs = 0;
  return async (jobId, delivery) => {
    if (delivery === 1) jobs += 1;
    if (delivery === 1 && jobs === 1) await api.post(`/jobs/${jobId}/nack`, '{"reason":"nacked by the demo"}');
    else if (delivery === 1 && jobs === 2)
      await api.post(`/jobs/${jobId}/defer`, '{"retryAfter":1,"reason":"deferred by the demo"}');
    else await api.post(`/jobs/${jobId}/ack`, '');
  };
}

function printFigures(figures: Figures): void {
  console.log();
  printTable([
    ['published', String(figures.published)],
    ['delivered', String(figures.delivered)],
    ['retried', String(figures.retried)],
    ['held', String(figures.held)],
    ['dead', String(figures.dead)],
    ['replayed', String(figures.replayed)],
    ['jobs per second', String(Math.round(figures.jobsPerSecond))],
    ['publish to arrival, idle, p50', percentileText(figures.idleMs, 50)],
    ['publish to arrival, idle, p99', percentileText(figures.idleMs, 99)],
    ['wrong signatures', String(figures.badSignatures)],
    ['every payload arrived byte for byte', figures.verbatim ? 'yes' : 'NO'],
  ]);
}
