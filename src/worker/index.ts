import type { ClockWatch } from '../db/clock-watch.ts';
import type { Database } from '../db/database.ts';
import type { Periods } from '../db/publish.ts';
import { indexAttempts, rollUp } from '../db/statistics.ts';
import type { CallReason } from '../db/wake-ups.ts';
import { forgetConfirmations, tellDeclaredDead } from '../db/workers.ts';
import type { Sender } from '../delivery/send.ts';
import type { PlanTable } from '../domain/plan.ts';
import type { Logger } from '../log.ts';
import type { ChangeFeed } from '../services/live.ts';
import { takeBack } from '../services/recover.ts';
import { BulkActions } from './bulk-actions.ts';
import { Deadlines } from './deadlines.ts';
import { DeathWatch } from './death-watch.ts';
import { Dispatcher } from './dispatcher.ts';
import { Liveness } from './liveness.ts';
import { startReconciling } from './reconcile.ts';
import { repeat } from './repeat.ts';
import { WakeUpRunner } from './runner.ts';
import { SearchIndexing } from './search-indexing.ts';
import { Sweeper } from './sweeper.ts';
import { createBulkTask } from './tasks/bulk.ts';
import { createDeliverTask } from './tasks/deliver.ts';
import { createTimeoutTask } from './tasks/timeout.ts';

export interface WorkerOptions {
  databaseUrl: string;
  capacity: number;
  webhookTimeoutMs: number;
  retentionSweepMs: number;
  periods: Periods;
  plans: PlanTable;
  changes: ChangeFeed;
  clock: ClockWatch;
}

export interface Worker {
  /** Says that the queue may have work; false when there is no room for it now. */
  wake(queueId: string, reason: CallReason): boolean;
  /** Why it does not deliver as it should, for people; null when all is well. */
  problem(): string | null;
  /** Deliveries under way. */
  inFlight(): number;
  /** Takes no more work, lets deliveries finish, and settles them. */
  stop(): Promise<void>;
}

/** A delivery may last the webhook's time; the margin is for the way to the database and back (docs/architecture.md). */
const LEASE_MARGIN_MS = 5000;
/** How far the statistics are behind, and what a round does at most when they have much to make up for. */
const ROLL_UP_MS = 5000;
const ROLL_UP_STEPS = 20;
/** How long after its five seconds of grace a payload becomes searchable, when there is not much else to index. */
const INDEX_MS = 1000;
/** Bulk actions count as idle when they were not kept for 5 s. */
const KEEP_BULK_MS = 1500;

/** The delivering half of the service. */
export async function startWorker(db: Database, sender: Sender, log: Logger, options: WorkerOptions): Promise<Worker> {
  const { webhookTimeoutMs, capacity, retentionSweepMs, periods, plans, changes, clock } = options;
  let listening: Dispatcher | null = null;
  const liveness = await Liveness.start({
    url: options.databaseUrl,
    log,
    origin: db.origin,
    onCall: (queueId, reason) => listening?.wake(queueId, reason),
    onConfirmedAgain: () => listening?.resume(),
  });
  const { workerId } = liveness;
  const leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
  const dispatcher = new Dispatcher({
    ...{ db, sender, log, changes, workerId, capacity, leaseMs },
    mayClaim: () => liveness.confirmed,
    mayStart: (claimedAt) => liveness.covers(claimedAt),
    onRefused: (claimedAt) => liveness.wasRefused(claimedAt),
  });
  listening = dispatcher;
  const wake = (queueId: string) => dispatcher.wake(queueId);
  const deadlines = new Deadlines(db, log, wake, changes);
  const bulkActions = new BulkActions({ db, plans, periods, wake, changes }, log);
  const runner = new WakeUpRunner(db, log, {
    deliver: createDeliverTask(dispatcher),
    timeout: createTimeoutTask(deadlines),
    bulk: createBulkTask(bulkActions),
  });
  try {
    await runner.start();
  } catch (error) {
    await liveness.stop();
    throw error;
  }

  const stopWatching = watchForDeaths(db, liveness, log, changes, wake);
  const stopReconciling = startReconciling({ db, log, changes, wake, deadlines, bulkActions });
  const sweeper = new Sweeper(db, log, { clock, periods, everyMs: retentionSweepMs });
  const stopSweeping = repeat(retentionSweepMs, log, 'the retention sweep', () => sweeper.run());
  const stopKeeping = repeat(KEEP_BULK_MS, log, 'keeping bulk actions', () => bulkActions.keep());
  const stopIndexing = repeat(ROLL_UP_MS, log, 'indexing attempts', () => indexAttempts(db));
  const stopRollingUp = repeat(ROLL_UP_MS, log, 'rolling up statistics', async () => {
    for (let step = 0; step < ROLL_UP_STEPS; step += 1) {
      if (!(await rollUp(db, periods.retentionMs))) return;
    }
  });
  const searchIndexing = new SearchIndexing(db, log, () => dispatcher.inFlight > 0);
  const stopSearchIndexing = repeat(INDEX_MS, log, 'indexing payloads', () => searchIndexing.run());
  log.info({ workerId, capacity }, 'worker started');

  return {
    wake: (queueId, reason) => {
      const hasRoom = dispatcher.hasRoom(queueId);
      dispatcher.wake(queueId, reason);
      return hasRoom;
    },
    problem: () => {
      if (!runner.running) return 'restarting';
      if (!liveness.confirmed) return `the lease lock is not confirmed: ${liveness.problem}`;
      return dispatcher.problem;
    },
    inFlight: () => dispatcher.inFlight,
    stop: async () => {
      const reconciling = stopReconciling();
      stopWatching();
      stopKeeping();
      stopSweeping();
      sweeper.stop();
      stopIndexing();
      stopRollingUp();
      stopSearchIndexing();
      searchIndexing.stop();
      deadlines.stop();
      await Promise.all([runner.stop(), bulkActions.stop(), dispatcher.drain(), reconciling]);
      await liveness.stop();
    },
  };
}

/** Until the answer is called. */
function watchForDeaths(
  db: Database,
  liveness: Liveness,
  log: Logger,
  changes: ChangeFeed,
  wake: (queueId: string) => void,
): () => void {
  const { workerId } = liveness;
  const watch = new DeathWatch(db, workerId);
  return repeat(
    () => watch.nextMs,
    log,
    'looking for dead workers',
    async () => {
      const askedAt = performance.now();
      const { seen, dead } = await watch.look();
      if (!seen) liveness.wasNotSeen(askedAt);
      if (dead.length === 0) return;
      const queues = await takeBack(db, dead, workerId, changes);
      await forgetConfirmations(db, dead);
      for (const id of dead) watch.forget(id);
      if (queues.size === 0) return; // they had none left: most of them just stopped
      log.warn({ workers: dead, queues: queues.size }, 'took back the claims of dead workers');
      for (const queueId of queues) wake(queueId);
      await tellDeclaredDead(db, dead);
    },
  );
}
