import type { ClockWatch } from '../db/clock-watch.ts';
import type { Database } from '../db/database.ts';
import type { Periods } from '../db/publish.ts';
import { indexAttempts, rollUp } from '../db/statistics.ts';
import type { CallReason } from '../db/wake-ups.ts';
import type { Sender } from '../delivery/send.ts';
import type { PlanTable } from '../domain/plan.ts';
import type { Logger } from '../log.ts';
import type { ChangeFeed } from '../services/live.ts';
import { takeBack } from '../services/recover.ts';
import { BulkActions } from './bulk-actions.ts';
import { Deadlines } from './deadlines.ts';
import { Dispatcher } from './dispatcher.ts';
import { DeathWatch, Liveness } from './liveness.ts';
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
  running(): boolean;
  /** Deliveries under way. */
  inFlight(): number;
  /** Takes no more work, lets deliveries finish, and settles them. */
  stop(): Promise<void>;
}

/** A delivery may last the webhook's time; the margin is for the way to the database and back (DESIGN 2). */
const LEASE_MARGIN_MS = 5000;
/** Two looks make a death: a killed worker's claims are taken back within 5 s. */
const DEATH_WATCH_MS = 2000;
/** How far the statistics are behind, and what a round does at most when they have much to make up for. */
const ROLL_UP_MS = 5000;
const ROLL_UP_STEPS = 20;
/** How long after its five seconds of grace a payload becomes searchable, when there is not much else to index. */
const INDEX_MS = 1000;

/** The delivering half of the service. */
export async function startWorker(db: Database, sender: Sender, log: Logger, options: WorkerOptions): Promise<Worker> {
  const { webhookTimeoutMs, capacity, retentionSweepMs, periods, plans, changes, clock } = options;
  let listening: Dispatcher | null = null;
  const liveness = await Liveness.start({
    url: options.databaseUrl,
    log,
    onCall: (queueId, reason) => listening?.wake(queueId, reason),
    onSeenAgain: () => listening?.resume(),
  });
  const { workerId } = liveness;
  const leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
  const mayClaim = () => liveness.seen;
  const dispatcher = new Dispatcher({
    ...{ db, sender, log, changes, workerId, capacity, webhookTimeoutMs, leaseMs, mayClaim },
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
  await runner.start();

  const watch = new DeathWatch(db, workerId);
  const stopWatching = repeat(DEATH_WATCH_MS, log, 'looking for dead workers', async () => {
    const dead = await watch.look();
    if (dead.length === 0) return;
    const queues = await takeBack(db, dead, changes);
    log.warn({ workers: dead, queues: queues.size }, 'took back the claims of dead workers');
    for (const queueId of queues) wake(queueId);
  });
  const stopReconciling = startReconciling({ db, log, changes, wake, deadlines, bulkActions });
  const sweeper = new Sweeper(db, log, { clock, periods, everyMs: retentionSweepMs });
  const stopSweeping = repeat(retentionSweepMs, log, 'the retention sweep', () => sweeper.run());
  const stopIndexing = repeat(ROLL_UP_MS, log, 'indexing attempts', () => indexAttempts(db));
  const stopRollingUp = repeat(ROLL_UP_MS, log, 'rolling up statistics', async () => {
    for (let step = 0; step < ROLL_UP_STEPS; step += 1) {
      if (!(await rollUp(db, periods.retentionMs))) return;
    }
  });
  const searchIndexing = new SearchIndexing(db, () => dispatcher.inFlight > 0);
  const stopSearchIndexing = repeat(INDEX_MS, log, 'indexing payloads', () => searchIndexing.run());
  log.info({ workerId, capacity }, 'worker started');

  return {
    wake: (queueId, reason) => {
      const { hasRoom } = dispatcher;
      dispatcher.wake(queueId, reason);
      return hasRoom;
    },
    running: () => runner.running,
    inFlight: () => dispatcher.inFlight,
    stop: async () => {
      stopWatching();
      stopReconciling();
      stopSweeping();
      sweeper.stop();
      stopIndexing();
      stopRollingUp();
      stopSearchIndexing();
      searchIndexing.stop();
      deadlines.stop();
      await Promise.all([runner.stop(), bulkActions.stop(), dispatcher.drain()]);
      await liveness.stop();
    },
  };
}
