import { readFileSync } from 'node:fs';
import type { Config } from './config.ts';
import { ClockWatch, lookAtClock, useClockWatch } from './db/clock-watch.ts';
import type { Database } from './db/database.ts';
import { schemaState } from './db/migrate.ts';
import { createPrisma } from './db/prisma.ts';
import type { Periods } from './db/publish.ts';
import { createSender } from './delivery/send.ts';
import { LIMITS } from './domain/queue.ts';
import { createApp, type Listening, listen, type Readiness } from './http/index.ts';
import type { Logger } from './log.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import type { Context } from './services/context.ts';
import { createUseCases } from './services/create-services.ts';
import { startHeartbeat } from './services/heartbeat.ts';
import { createLive } from './services/live-hub.ts';
import { createStoredText } from './services/stored-text.ts';
import { WorkerCalls } from './services/worker-calls.ts';
import { startWorker, type Worker } from './worker/index.ts';
import { repeat } from './worker/repeat.ts';

/** Beside the sources and beside what is built of them. */
const PACKAGE = new URL('../package.json', import.meta.url);
const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };

/** How long a clock that jumped may go unnoticed. */
const CLOCK_LOOK_MS = 2000;

export interface Service {
  url: string;
  newApiKey: string | null;
  /** Takes nothing more, lets deliveries and requests finish, and closes everything. */
  stop(): Promise<void>;
}

/** The composition root: every part is made here and handed to those who need it. */
export async function startService(config: Config, log: Logger): Promise<Service> {
  const database = await openDatabase(config, log, { guest: false });
  try {
    return await startParts(config, log, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function startParts(config: Config, log: Logger, database: OpenDatabase): Promise<Service> {
  const { db, url: databaseUrl } = database;
  const prisma = createPrisma(db);
  const sender = createSender({
    timeoutMs: config.webhookTimeoutMs,
    signatureHeader: config.signatureHeader,
    allowCidrs: [...config.webhookAllowCidrs],
    proxyUrl: config.webhookProxyUrl,
  });
  if (config.webhookAllowCidrs.length > 0) {
    log.warn({ cidrs: config.webhookAllowCidrs }, 'webhooks may reach these addresses although they are not public');
  }
  if (config.webhookProxyUrl !== undefined) {
    // Not the rest of the URL, which may have a password.
    const { host } = new URL(config.webhookProxyUrl);
    log.warn({ proxy: host }, 'webhooks go through a proxy, which itself must refuse addresses that are not public');
  }
  const periods = { retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs };
  warnOfShortRetention(periods, log);
  const liveUpdates = createLive({ db, url: databaseUrl, log });
  const { changes } = liveUpdates;
  const clock = new ClockWatch({ maxJumpMs: config.maxClockJumpMs, log });
  useClockWatch(db, clock);
  const stopClock = repeat(CLOCK_LOOK_MS, log, "reading the database's clock", () => lookAtClock(db, clock));
  let worker: Worker | null = null;
  if (config.role !== 'api') {
    worker = await startWorker(db, sender, log, {
      databaseUrl,
      capacity: config.workerCapacity,
      webhookTimeoutMs: config.webhookTimeoutMs,
      retentionSweepMs: config.retentionSweepMs,
      periods,
      plans: config.plans,
      changes,
      clock,
    });
  }
  const calls = new WorkerCalls(db, log);
  const context: Context = {
    db,
    prisma,
    plans: config.plans,
    templates: config.templates,
    periods,
    server: { version: VERSION, environment: config.environment, webhookTimeoutMs: config.webhookTimeoutMs },
    wake: (queueId, reason) => {
      if (worker === null || !worker.wake(queueId, reason)) calls.call(queueId, reason);
    },
    changes,
  };
  const useCases = config.role === 'worker' ? null : createUseCases(context);
  const stored = createStoredText(db);
  const shared = { prisma, stored, plans: config.plans, live: liveUpdates.live };
  const graphql =
    useCases === null ? null : await loadGraphQL({ ...useCases, ...shared }, { graphiql: config.graphiql, log });
  const app = createApp({
    services: useCases?.services ?? null,
    config,
    log,
    readiness: () => readiness(db, worker),
    graphql,
  });
  await liveUpdates.start();
  const listening: Listening = await listen(app, { host: config.host, port: config.port });
  log.info({ url: listening.url, role: config.role }, 'listening');
  const stopHeartbeat = startHeartbeat(
    db,
    () => ({
      role: config.role,
      version: VERSION,
      inFlight: worker?.inFlight() ?? 0,
      capacity: worker === null ? 0 : config.workerCapacity,
    }),
    (error) => log.warn({ err: error }, 'the sign of life for dashboards failed, and is tried again'),
  );

  return {
    url: listening.url,
    newApiKey: database.newApiKey,
    stop: async () => {
      // Subscribers would keep their requests open.
      liveUpdates.endSubscriptions();
      graphql?.stop();
      await Promise.all([listening.close(), worker?.stop()]);
      stopClock();
      await liveUpdates.stop();
      await calls.idle();
      await stopHeartbeat();
      await sender.close();
      await prisma.$disconnect();
      await database.close();
    },
  };
}

function warnOfShortRetention({ retentionMs, lifetimeMs }: Periods, log: Logger): void {
  const needed = LIMITS.publishDelay.max + lifetimeMs / 1000;
  if (retentionMs / 1000 >= needed) return;
  log.warn(
    { retentionSeconds: retentionMs / 1000, longestDelayAndLifetimeSeconds: needed },
    'JOB_RETENTION_SECONDS is shorter than the longest delay and the delivery lifetime: ' +
      'a job that has not ended by then stays until it ends, and for a lifetime after that',
  );
}

/** Loaded by those who serve it: for a worker it would be half of its memory, and most of the time of its start. */
async function loadGraphQL(...options: Parameters<typeof import('./graphql/index.ts').createGraphQL>) {
  const { createGraphQL } = await import('./graphql/index.ts');
  return createGraphQL(...options);
}

/** Ready means: a job published now would be kept, and delivered if this process delivers. */
async function readiness(db: Database, worker: Worker | null): Promise<Readiness> {
  const checks: Record<string, string> = await schemaState(db.pool).then(
    // A later version may have migrated already while this one is being replaced.
    (state) => ({ database: 'ok', schema: state === 'behind' ? 'not migrated' : 'ok' }),
    () => ({ database: db.origin.refusal ?? 'not reachable' }),
  );
  if (worker !== null) checks.worker = worker.running() ? 'ok' : 'restarting';
  return { ready: Object.values(checks).every((check) => check === 'ok'), checks };
}
