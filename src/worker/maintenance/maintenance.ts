import type { ClockWatch } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import { indexAttempts, rollUp } from '../../db/insight/statistics.ts';
import type { Periods } from '../../domain/periods.ts';
import type { ChangeFeed } from '../../live/live.ts';
import { type Repeated, repeat } from '../../pacing/repeat.ts';
import type { ReleaseWatch } from '../../services/server/release-watch.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { BulkActions } from '../bulk/actions.ts';
import type { Liveness } from '../lease/liveness.ts';
import { DeadWorkers } from './dead-workers.ts';
import type { Deadlines } from './deadlines.ts';
import { Reconciler } from './reconcile.ts';
import { SearchIndexing } from './search-indexing.ts';
import { Sweeper } from './sweeper.ts';

export interface MaintenanceParts {
  db: Database;
  log: Logger;
  liveness: Liveness;
  changes: ChangeFeed;
  clock: ClockWatch;
  release: Pick<ReleaseWatch, 'knowsAll'>;
  periods: Periods;
  retentionSweepMs: number;
  deadlines: Deadlines;
  bulkActions: BulkActions;
  wake: (queueId: string) => void;
  isDelivering: () => boolean;
  /** Whether this process has had no claims and no wake-ups for some time. */
  isResting: () => boolean;
}

/** Work that runs in rounds. A round that fails is logged, and the next round tries again. */
interface Loop {
  /** Subject of the log message about a failed round. */
  name: string;
  /** Milliseconds from the end of a round to the start of the next. */
  everyMs: number | (() => number);
  round(): Promise<void>;
}

/** The loops that can be run out of turn. */
const FINDING_WORK = 'finding queues with work';
const ENDING_LIFETIMES = 'ending lifetimes';
const SWEEPING = 'the retention sweep';
/** The loops that do what is due. */
const TIMED = [FINDING_WORK, ENDING_LIFETIMES, SWEEPING];
/** Interval of the reconciler: the longest delay of a job whose wake-up was lost (I-36). */
const RECONCILE_MS = 5000;
/** Interval of the statistics: how far they may be behind. */
const ROLL_UP_MS = 5000;
/** Steps per round while the statistics are far behind. */
const ROLL_UP_STEPS = 20;
/**
 * Interval of the payload index. A payload is indexed at the earliest 5 s after its publish.
 * Resting: see `Dispatcher.isResting`.
 */
const INDEX_MS = { usual: 1000, resting: 5000 };
/** Must be well below the 5 s after which a bulk action that no process has kept counts as idle. */
const KEEP_BULK_MS = 1500;

/** Runs everything that a worker does besides deliveries, from one table. */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  readonly #deadWorkers: DeadWorkers;
  readonly #reconciler: Reconciler;
  readonly #sweeper: Sweeper;
  readonly #searchIndexing: SearchIndexing;
  /** By name. */
  #running = new Map<string, Repeated>();
  #stopped = false;

  constructor(parts: MaintenanceParts) {
    this.#parts = parts;
    const { db, log, clock, release, periods, retentionSweepMs } = parts;
    this.#deadWorkers = new DeadWorkers(parts);
    this.#reconciler = new Reconciler(parts);
    this.#sweeper = new Sweeper(db, log, { clock, release, periods, everyMs: retentionSweepMs });
    this.#searchIndexing = new SearchIndexing(db, log, parts.isDelivering);
  }

  start(): void {
    const { log } = this.#parts;
    this.#running = new Map(this.#loops().map(({ name, everyMs, round }) => [name, repeat(everyMs, log, name, round)]));
  }

  /** Finds queues with work at once, because wake-ups of other processes may have been missed. */
  findWork(): void {
    this.#running.get(FINDING_WORK)?.runSoon();
  }

  /** Expires the deadlines of a queue that have passed. */
  checkDeadlines(queueId: string): void {
    this.#reconciler.checkDeadlines(queueId);
  }

  /** Sweeps soon, whenever the last sweep was. */
  sweep(): void {
    this.#sweeper.request();
    this.#running.get(SWEEPING)?.runSoon();
  }

  /** Does at once what depends on the time, because the clock has moved. */
  lookAgain(): void {
    for (const name of TIMED) this.#running.get(name)?.runSoon();
  }

  /** Resolves when no round is running any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#deadWorkers.stop();
    this.#reconciler.stop();
    this.#sweeper.stop();
    this.#searchIndexing.stop();
    await Promise.all([...this.#running.values()].map((loop) => loop.stop()));
  }

  #loops(): Loop[] {
    const { db, retentionSweepMs, bulkActions, isResting } = this.#parts;
    const indexMs = () => (isResting() ? INDEX_MS.resting : INDEX_MS.usual);
    const reconciler = this.#reconciler;
    const deadWorkers = this.#deadWorkers;
    return [
      { name: 'finding dead workers', everyMs: () => deadWorkers.nextMs, round: () => deadWorkers.round() },
      { name: ENDING_LIFETIMES, everyMs: RECONCILE_MS, round: () => reconciler.endLifetimes() },
      { name: FINDING_WORK, everyMs: RECONCILE_MS, round: () => reconciler.findWork('live') },
      { name: 'finding deleted queues with jobs', everyMs: RECONCILE_MS, round: () => reconciler.findWork('deleted') },
      { name: 'finding idle bulk actions', everyMs: RECONCILE_MS, round: () => bulkActions.takeIdle() },
      { name: 'keeping bulk actions', everyMs: KEEP_BULK_MS, round: () => bulkActions.keep() },
      { name: SWEEPING, everyMs: retentionSweepMs, round: () => this.#sweeper.run() },
      { name: 'indexing attempts', everyMs: ROLL_UP_MS, round: () => indexAttempts(db) },
      { name: 'rolling up statistics', everyMs: ROLL_UP_MS, round: () => this.#rollUp() },
      { name: 'indexing payloads', everyMs: indexMs, round: () => this.#searchIndexing.run() },
    ];
  }

  async #rollUp(): Promise<void> {
    const { db, periods } = this.#parts;
    for (let step = 0; step < ROLL_UP_STEPS && !this.#stopped; step += 1) {
      if (!(await rollUp(db, periods.retentionMs))) return;
    }
  }
}
