import { createPrisma, createReadingPrisma } from '../../db/connection/prisma.ts';
import { createAddressGuard } from '../../delivery/address-guard.ts';
import { createTestSender } from '../../delivery/test-request.ts';
import type { Context } from '../../services/context.ts';
import { WakeNotifier } from '../../services/wake-notifier.ts';
import { HandOver, type Worker, type WorkerOptions } from '../../worker/index.ts';
import { VERSION } from '../version.ts';
import type { Foundations } from './foundations.ts';
import { createExaminer, openOwnSender } from './open-sender.ts';

/** The context that every use case gets. */
export function createContext(
  { config, log, database: { db }, started }: Foundations,
  {
    periods,
    changes,
    tracing,
    worker,
    clockTravel,
    tunnels,
  }: Pick<WorkerOptions, 'periods' | 'changes' | 'tracing'> &
    Pick<Context, 'clockTravel' | 'tunnels'> & { worker: Worker | null },
): Context {
  const prisma = createPrisma(db);
  started.add(() => prisma.$disconnect());
  const readingPrisma = createReadingPrisma(db);
  started.add(() => readingPrisma.close());
  // A sender of its own, which keeps no connection open: tests must not use the sockets of deliveries.
  const testSender = openOwnSender({ config, started }, 0);
  const notifier = new WakeNotifier(db, log);
  started.add(() => notifier.idle());
  const handOver = worker === null && config.workerLinkPort !== null ? new HandOver(db, log) : null;
  if (handOver !== null) started.add(() => handOver.stop());
  return {
    db,
    prisma,
    readingPrisma,
    plans: config.plans,
    templates: config.templates,
    periods,
    server: { version: VERSION, environment: config.environment, webhookTimeoutMs: config.webhookTimeoutMs },
    signIn: {
      sessionMaxMs: config.sessionMaxMs,
      issuer: config.oidc?.issuer.href ?? null,
      onlyOidc: config.oidc?.only ?? false,
    },
    wake: (queueId, reason) => {
      if (worker === null || !worker.wake(queueId, reason)) notifier.add(queueId, reason);
    },
    newJobs: worker?.newJobs ?? handOver,
    followQueues: worker?.followQueues ?? null,
    sendTest: createTestSender(testSender),
    examine: createExaminer(config, testSender),
    reportUrl: config.reportUrl,
    sendsMail: config.smtp !== null,
    allowsAddress: createAddressGuard({ allowCidrs: [...config.webhookAllowCidrs] }).allows,
    changes,
    tracing,
    clockTravel,
    tunnels,
  };
}
