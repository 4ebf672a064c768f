import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { createApi, type DemoApi } from './api.ts';
import { printTable } from './progress.ts';
import { startReceiver } from './receiver.ts';
import { type Figures, percentile, Scenario } from './scenario.ts';

/** Starts a service with this configuration; the composition root's, handed in. */
export type StartService = (config: Config) => Promise<{ url: string; stop(): Promise<void> }>;

/**
 * A service, a webhook that misbehaves, and real payloads, all in this process and on loopback.
 * @returns whether everything arrived as it was published
 */
export async function runDemo(config: Config, startService: StartService): Promise<boolean> {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-demo-'));
  const apiKey = `demo-${randomBytes(16).toString('hex')}`;
  console.log('Jobferry demo: a service of its own, a webhook that misbehaves, and the payloads of GitHub\n');
  const service = await startService({
    ...config,
    role: 'all',
    host: '127.0.0.1',
    port: 0,
    dataDir,
    databaseUrl: undefined,
    bootstrapApiKey: apiKey,
    bootstrapPlan: 'pro',
    webhookAllowCidrs: ['127.0.0.0/8'],
    signatureHeader: 'x-service-signature',
  });
  const api = createApi(service.url, apiKey);
  let failedReport: unknown = null;
  const receiver = await startReceiver((jobId, delivery) => {
    report(api, jobId, delivery).catch((error: unknown) => {
      failedReport = error;
    });
  });
  try {
    const figures = await new Scenario(api, receiver).run();
    if (failedReport !== null) throw failedReport;
    printFigures(figures);
    return figures.verbatim && figures.badSignatures === 0;
  } finally {
    await service.stop();
    await receiver.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

let reports = 0;

/** The worker of the queue in ack mode: its first job is nacked once, its second is deferred once. */
async function report(api: DemoApi, jobId: string, delivery: number): Promise<void> {
  reports += delivery === 1 ? 1 : 0;
  const first = delivery === 1;
  if (first && reports === 1) await api.post(`/jobs/${jobId}/nack`, '{"reason":"the demo says no"}');
  else if (first && reports === 2)
    await api.post(`/jobs/${jobId}/defer`, '{"retryAfter":1,"reason":"the demo says later"}');
  else await api.post(`/jobs/${jobId}/ack`, '');
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
    ['publish to arrival, idle, p50', percentile(figures.idleMs, 50)],
    ['publish to arrival, idle, p99', percentile(figures.idleMs, 99)],
    ['wrong signatures', String(figures.badSignatures)],
    ['every payload arrived byte for byte', figures.verbatim ? 'yes' : 'NO'],
  ]);
}
