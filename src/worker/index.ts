import type { ClockWatch } from '../db/connection/clock-watch.ts';
import type { Database } from '../db/connection/database.ts';
import { readWake, WAKE_CHANNEL, type WakeReason } from '../db/delivery/wake-ups.ts';
import type { Sender } from '../delivery/send.ts';
import type { PlanTable } from '../domain/plan.ts';
import type { NewJobClaims } from '../services/context.ts';
import type { ReleaseWatch } from '../services/server/release-watch.ts';
import type { Logger } from '../telemetry/log.ts';
import { BulkActions } from './bulk/actions.ts';
import type { KeyProblem } from './dispatch/missing-keys.ts';
import { type DispatchingOptions, startDispatching } from './dispatching.ts';
import type { LinkAddress } from './link/messages.ts';
import { Deadlines } from './maintenance/deadlines.ts';
import { Maintenance } from './maintenance/maintenance.ts';
import { sweepSchedule } from './wake-ups/cron.ts';
import { WakeUpRunner } from './wake-ups/runner.ts';
import { createTasks } from './wake-ups/tasks.ts';

export { HandOver } from './link/hand-over.ts';

export interface WorkerOptions extends DispatchingOptions {
  retentionSweepMs: number;
  plans: PlanTable;
  clock: ClockWatch;
  release: Pick<ReleaseWatch, 'knowsAll'>;
}

export interface Worker {
  /** Claims from the queue soon. @returns false when this process has no free capacity for it now */
  wake(queueId: string, reason: WakeReason): boolean;
  /** Claims jobs that this process publishes. */
  readonly newJobs: NewJobClaims;
  /** How API processes hand over jobs; null if they cannot. */
  readonly link: LinkAddress | null;
  /** Follows a change of Standard Webhooks headers or of a breaker at once. */
  followQueues(): Promise<void>;
  /** Does at once what is due, because the database's clock has moved. */
  lookAgain(): void;
  /** For operators: why the worker does not deliver as it should; null when it does. */
  problem(): string | null;
  /** For operators: the key that this process lacks; null without one. */
  keyProblem(): KeyProblem | null;
  /** For operators: what keeps this process from all receivers, and for how long; null when nothing does. */
  egressProblem(): string | null;
  /** Number of running deliveries. */
  inFlight(): number;
  /** Number of queues that another session has kept locked for some time. */
  lockedQueues(): number;
  /** Stops claiming, waits for running deliveries, and writes their outcomes. */
  stop(): Promise<void>;
}

/** Starts the part of the service that delivers jobs. */
export async function startWorker(db: Database, sender: Sender, log: Logger, options: WorkerOptions): Promise<Worker> {
  const { capacity, plans, periods, changes, listener } = options;
  const { liveness, dispatching, link, followQueues, drain } = await startDispatching(db, sender, log, options);
  const { workerId } = liveness;
  const wake = (queueId: string, reason?: WakeReason) => dispatching.wake(queueId, reason);
  const wakeSomewhere = (queueId: string) => dispatching.wakeSomewhere(queueId);
  const deadlines = new Deadlines(db, log, wakeSomewhere, changes);
  const bulkActions = new BulkActions({ db, plans, periods, wake: wakeSomewhere, changes }, log);
  const isDelivering = () => dispatching.inFlight > 0;
  const isResting = () => dispatching.isResting;
  const parts = { db, log, liveness, deadlines, bulkActions, wake, isDelivering, isResting };
  const maintenance = new Maintenance({ ...options, ...parts });
  const tasks = createTasks({ wake: wakeSomewhere, bulkActions, maintenance });
  const runner = new WakeUpRunner(db, log, tasks, sweepSchedule(options.retentionSweepMs));
  try {
    await runner.start();
  } catch (error) {
    await drain();
    await liveness.stop();
    throw error;
  }
  listener.subscribe({
    channels: {
      [WAKE_CHANNEL]: (message) => {
        const { reason, queueIds } = readWake(message);
        for (const queueId of queueIds) wake(queueId, reason);
      },
    },
    // Messages that were sent meanwhile are lost.
    onListening: () => maintenance.findWork(),
  });
  maintenance.start();
  log.info({ workerId, capacity }, 'worker started');

  return {
    newJobs: dispatching.newJobs,
    link,
    wake: (queueId, reason) => {
      const hasRoom = dispatching.hasRoom(queueId);
      wake(queueId, reason);
      return hasRoom;
    },
    followQueues,
    lookAgain: () => maintenance.lookAgain(),
    problem: () => {
      if (!runner.running) return 'restarting';
      if (liveness.problem !== null) return `the lease lock is not confirmed: ${liveness.problem}`;
      const { problem } = dispatching.missingKeys;
      return dispatching.problem ?? (problem?.isElsewhere === true ? problem.text : null);
    },
    keyProblem: () => dispatching.missingKeys.problem,
    egressProblem: () => {
      const { outage } = sender.egress;
      return outage === null ? null : `${outage.error} for ${Math.round(outage.sinceMs / 1000)} s`;
    },
    inFlight: () => dispatching.inFlight,
    lockedQueues: () => dispatching.locked.count,
    stop: async () => {
      deadlines.stop();
      await Promise.all([runner.stop(), bulkActions.stop(), drain(), maintenance.stop()]);
      await liveness.stop();
    },
  };
}
