import type { Database } from '../db/database.ts';
import { queuesWithWork, requestSweep } from '../db/wake-ups.ts';
import type { Sender } from '../delivery/send.ts';
import type { Logger } from '../log.ts';
import { endLifetimes, takeBack } from '../services/recover.ts';
import { Deadlines } from './deadlines.ts';
import { Dispatcher } from './dispatcher.ts';
import { DeathWatch, Liveness } from './liveness.ts';
import { repeat } from './repeat.ts';
import { WakeUpRunner } from './runner.ts';
import { createDeliverTask } from './tasks/deliver.ts';
import { createRetentionTask, RETENTION_TASK } from './tasks/retention.ts';
import { createTimeoutTask } from './tasks/timeout.ts';

export interface WorkerOptions {
  databaseUrl: string;
  capacity: number;
  webhookTimeoutMs: number;
  retentionMs: number;
  retentionSweepMs: number;
}

export interface Worker {
  wake(queueId: string): void;
  running(): boolean;
  /** Takes no more work, lets deliveries finish, and settles them. */
  stop(): Promise<void>;
}

/** A delivery may last the webhook's time; the margin is for the way to the database and back (DESIGN 2). */
const LEASE_MARGIN_MS = 5000;
/** Two looks make a death: a killed worker's claims are taken back within 5 s. */
const DEATH_WATCH_MS = 2000;
/** How long a lost wake-up can cost (reliability I-36). */
const RECONCILE_MS = 5000;

/** The delivering half of the service. */
export async function startWorker(db: Database, sender: Sender, log: Logger, options: WorkerOptions): Promise<Worker> {
  const { webhookTimeoutMs, capacity, retentionMs, retentionSweepMs } = options;
  const liveness = await Liveness.start(options.databaseUrl, log);
  const { workerId } = liveness;
  const leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
  const dispatcher = new Dispatcher({ db, sender, log, workerId, capacity, webhookTimeoutMs, leaseMs });
  const wake = (queueId: string) => dispatcher.wake(queueId);
  const deadlines = new Deadlines(db, log, wake);
  const runner = new WakeUpRunner(db, log, {
    deliver: createDeliverTask(dispatcher),
    timeout: createTimeoutTask(deadlines),
    retention: createRetentionTask(db, log, { retentionMs, sweepMs: retentionSweepMs }),
  });
  await runner.start();

  const watch = new DeathWatch(db, workerId);
  const stopWatching = repeat(DEATH_WATCH_MS, log, 'looking for dead workers', async () => {
    const dead = await watch.look();
    if (dead.length === 0) return;
    const queues = await takeBack(db, dead);
    log.warn({ workers: dead, queues: queues.size }, 'took back the claims of dead workers');
    for (const queueId of queues) wake(queueId);
  });
  const stopReconciling = repeat(RECONCILE_MS, log, 'reconciling', async () => {
    for (const queueId of await endLifetimes(db)) wake(queueId);
    const { due, overdue } = await queuesWithWork(db);
    for (const queueId of due) wake(queueId);
    for (const queueId of overdue) await deadlines.check(queueId);
    await requestSweep(db, RETENTION_TASK, retentionSweepMs);
  });
  log.info({ workerId, capacity }, 'worker started');

  return {
    wake,
    running: () => runner.running,
    stop: async () => {
      stopWatching();
      stopReconciling();
      deadlines.stop();
      await Promise.all([runner.stop(), dispatcher.drain()]);
      await liveness.stop();
    },
  };
}
