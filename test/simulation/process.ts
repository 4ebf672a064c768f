import type { Database } from '../../src/db/connection/database.ts';
import type { WakeReason } from '../../src/db/delivery/wake-ups.ts';
import type { Sender } from '../../src/delivery/send.ts';
import type { Account } from '../../src/domain/account.ts';
import { NO_CHANGES } from '../../src/live/live.ts';
import { type Repeated, repeat } from '../../src/pacing/repeat.ts';
import type { Context } from '../../src/services/context.ts';
import { createJobBatches } from '../../src/services/jobs/batches.ts';
import { createJobChanges } from '../../src/services/jobs/change.ts';
import { createExtendAck } from '../../src/services/jobs/extend-ack.ts';
import { createPublish } from '../../src/services/jobs/publish.ts';
import { createReports } from '../../src/services/jobs/report.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { Dispatcher } from '../../src/worker/dispatch/dispatcher.ts';
import { DeadWorkers } from '../../src/worker/maintenance/dead-workers.ts';
import { Deadlines } from '../../src/worker/maintenance/deadlines.ts';
import { Reconciler } from '../../src/worker/maintenance/reconcile.ts';
import type { Server } from './connection.ts';
import { LeaseLock } from './lease-lock.ts';
import type { Event, Host, Scheduler } from './scheduler.ts';

export const ACCOUNT: Account = {
  id: 'account',
  name: 'simulated',
  plan: 'pro',
  actor: { type: 'operator', id: null, label: 'simulated' },
};

/** As in `worker/index`. */
const LEASE_MARGIN_MS = 5000;
const RECONCILE_MS = 5000;

export interface ProcessSetup {
  scheduler: Scheduler;
  server: Server;
  workerId: number;
  capacity: number;
  webhookTimeoutMs: number;
  lifetimeMs: number;
  reconciler: boolean;
  senderOf(process: Process): Sender;
  hasBreaker(queueId: string): boolean;
  /** A bug: an open socket is taken for a lock that is held. */
  believesInSocket: boolean;
  /** As `WakeNotifier`: notifies the workers of all other processes. */
  callOthers(process: Process, queueId: string, reason: WakeReason): void;
}

/** The use cases of jobs that clients of the simulation call. */
function createJobs(context: Context) {
  // The callers do not use the document that a report returns.
  const batches = { ...createJobBatches(context), document: () => Promise.resolve({} as never) };
  return {
    ...createPublish(context),
    ...createReports(context, batches),
    ...createJobChanges(context),
    ...createExtendAck(context, batches),
  };
}

/** A process that serves calls and delivers: the real parts, put together as `worker/index` does. */
export class Process implements Host {
  readonly name: string;
  readonly workerId: number;
  readonly leaseMs: number;
  readonly capacity: number;
  readonly clockOrigin: number;
  readonly stash: Event[] = [];
  frozen = false;
  freezes = 0;
  dead = false;
  stopping = false;
  /** When it lost its lease lock for the first time; null if that never happened. */
  firstSilentAt: number | null = null;
  readonly db: Database;
  readonly jobs: ReturnType<typeof createJobs>;
  readonly dispatcher: Dispatcher;
  readonly deadlines: Deadlines;
  readonly lock: LeaseLock;
  readonly #setup: ProcessSetup;
  readonly #log: Logger;
  readonly #deadWorkers: DeadWorkers;
  readonly #reconciler: Reconciler;
  #loops: Repeated[] = [];

  constructor(setup: ProcessSetup) {
    const { scheduler, server, workerId, capacity, webhookTimeoutMs } = setup;
    this.#setup = setup;
    this.workerId = workerId;
    this.name = `process ${workerId}`;
    this.leaseMs = webhookTimeoutMs + LEASE_MARGIN_MS;
    this.capacity = capacity;
    this.clockOrigin = scheduler.random.int(0, 1e9);
    this.#log = logOf(this.name, scheduler);
    this.db = server.connect(this);
    const context = this.#context();
    this.jobs = createJobs(context);
    this.dispatcher = new Dispatcher({
      db: this.db,
      sender: setup.senderOf(this),
      log: this.#log,
      changes: NO_CHANGES,
      workerId,
      capacity,
      leaseMs: this.leaseMs,
      followed: { of: (queueId) => ({ standardWebhooks: false, breaker: setup.hasBreaker(queueId) }) },
      mayClaim: () => this.lock.confirmed,
      mayStart: (claimedAt) => Promise.resolve(this.lock.covers(claimedAt)),
      stillHolds: (claimedAt) => this.lock.stillHolds(claimedAt),
      onRefused: () => undefined,
      locks: { lock: async () => true, unlock: async () => undefined },
    });
    const wake = (queueId: string) => this.dispatcher.wake(queueId);
    this.deadlines = new Deadlines(this.db, this.#log, wake, NO_CHANGES);
    this.lock = new LeaseLock({
      host: this,
      scheduler,
      server,
      believesInSocket: setup.believesInSocket,
      onConfirmedAgain: () => this.dispatcher.resume(),
    });
    const parts = { db: this.db, log: this.#log, changes: NO_CHANGES, wake };
    this.#deadWorkers = new DeadWorkers({ ...parts, liveness: this.lock, isResting: () => false });
    this.#reconciler = new Reconciler({ ...parts, deadlines: this.deadlines });
  }

  get everSilent(): boolean {
    return this.firstSilentAt !== null;
  }

  /** Must run as an event of this process, so that its timers are its own. */
  start(): void {
    const deadWorkers = this.#deadWorkers;
    const reconciler = this.#reconciler;
    this.#loops.push(
      repeat(
        () => deadWorkers.nextMs,
        this.#log,
        'finding dead workers',
        () => deadWorkers.round(),
      ),
      repeat(RECONCILE_MS, this.#log, 'reconciling', async () => {
        await reconciler.endLifetimes();
        if (!this.#setup.reconciler) return;
        await reconciler.findWork('live');
        await reconciler.findWork('deleted');
      }),
    );
  }

  /** Claims no more jobs, and ends when the jobs in flight are settled. */
  stop(onStopped: () => void): void {
    this.stopping = true;
    for (const loop of this.#loops) void loop.stop();
    this.#reconciler.stop();
    this.deadlines.stop();
    void this.dispatcher.drain().then(() => {
      onStopped();
      this.kill();
    });
  }

  kill(): void {
    this.#setup.scheduler.kill(this);
    this.lock.processEnds();
    this.notesSilence();
  }

  /** From now on other processes may not see its lock, and may declare it dead. */
  notesSilence(): void {
    this.firstSilentAt ??= this.#setup.scheduler.now;
  }

  #context(): Context {
    const unlimited = { monthlyAttempts: null } as Context['plans'][string];
    const { lifetimeMs } = this.#setup;
    return {
      db: this.db,
      plans: { [ACCOUNT.plan]: unlimited },
      templates: {},
      periods: { lifetimeMs, retentionMs: 1e9 },
      server: { version: '', environment: '', webhookTimeoutMs: this.#setup.webhookTimeoutMs },
      signIn: { sessionMaxMs: 1e9, issuer: null, onlyOidc: false },
      // As in `start`.
      wake: (queueId, reason) => {
        const hasRoom = this.dispatcher.hasRoom(queueId);
        this.dispatcher.wake(queueId, reason);
        if (!hasRoom) this.#setup.callOthers(this, queueId, reason);
      },
      newJobs: {
        mayClaim: () => this.dispatcher.newJobs.mayClaim(),
        reserve: (queues) => this.dispatcher.newJobs.reserve(queues),
        end: (reservation, claim) => this.dispatcher.newJobs.end(reservation, claim),
      },
      changes: NO_CHANGES,
      sendTest: () => Promise.reject(new Error('there are no receivers')),
      examine: () => Promise.reject(new Error('there are no receivers')),
      allowsAddress: () => true,
      // Publishing and what is done to single jobs is all hand-written SQL.
      prisma: undefined as unknown as Context['prisma'],
      readingPrisma: undefined as unknown as Context['readingPrisma'],
    };
  }
}

function logOf(name: string, { trace }: Scheduler): Logger {
  const write =
    trace === null
      ? () => undefined
      : (fields: object, text: string) => trace(`  ${name} says: ${text} ${said(fields)}`);
  return {
    info: write,
    warn: write,
    error: write,
    debug: write,
    isLevelEnabled: () => trace !== null,
  } as unknown as Logger;
}

function said(fields: object): string {
  return JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? String(value) : value));
}
