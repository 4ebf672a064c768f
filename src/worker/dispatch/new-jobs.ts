import type { Database } from '../../db/connection/database.ts';
import { type ClaimedJob, readable } from '../../db/delivery/claim.ts';
import type { NewClaim } from '../../db/delivery/claim-new.ts';
import type { NewJobClaims, NewJobsOfQueue, Reservation } from '../../services/context.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import { type Moment, thisMoment } from '../moment.ts';
import type { ClaimPlanner } from './claim-planner.ts';
import type { ClaimTime } from './deliver.ts';
import type { InFlightCounter } from './in-flight-counter.ts';
import type { LocalWakeReason, OwnedQueue, QueueState } from './queue-state.ts';

interface Reserved extends Reservation {
  /** Taken before the statement was sent. */
  readonly startedAt: Moment;
}

interface Options {
  db: Database;
  workerId: number;
  leaseMs: number;
  planner: ClaimPlanner<OwnedQueue>;
  /** Counts statements that may still claim. */
  claims: InFlightCounter;
  mayClaim: () => boolean;
  mayDeliver: (queueId: string) => boolean;
  mayStart: (claimedAt: number) => Promise<boolean>;
  stateOf: (queueId: string) => QueueState;
  start: (queue: OwnedQueue, job: ClaimedJob, claimed: ClaimTime, mayStart: boolean) => void;
  wake: (queueId: string, reason: LocalWakeReason) => void;
  /** Writes the outcomes of deliveries that have ended at once. */
  hurry: () => void;
  forgetIdle: (queue: QueueState) => void;
  /** Called when a statement has failed that may have claimed. */
  onUnsure?: (() => void) | undefined;
}

/**
 * Claims jobs for the worker of this process in the statement that stores them (docs/decisions/0044): one commit and
 * one version of the row fewer, and the delivery begins at once. A queue that has jobs waiting, as far as this process
 * knows, is left to its claims.
 */
export class NewJobs implements NewJobClaims {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  mayClaim(): boolean {
    return this.#options.mayClaim();
  }

  reserve(wanted: readonly NewJobsOfQueue[]): Reservation | null {
    const { workerId, leaseMs, mayClaim, claims, stateOf } = this.#options;
    if (!mayClaim()) return null;
    const startedAt = thisMoment();
    const queues = wanted
      .filter((one) => this.#reserve(one))
      .sort((a, b) => (a.queueId < b.queueId ? -1 : 1))
      .map((one) => ({ ...one, since: stateOf(one.queueId).due.at(startedAt.monotonic) }));
    if (queues.length === 0) return null;
    claims.begin();
    const reserved: Reserved = { workerId, leaseMs, queues, startedAt };
    return reserved;
  }

  end(reservation: Reservation, claim: NewClaim | null, isUnsure = false): void {
    const reserved = reservation as Reserved;
    if (isUnsure) this.#options.onUnsure?.();
    void this.#deliver(reserved, claim).finally(() => this.#giveBack(reserved));
  }

  /** As `adopt`, for jobs that another process has claimed. A process that stops waits for them. */
  arrived(claim: NewClaim, startedAt: Moment): void {
    const { claims } = this.#options;
    claims.begin();
    void this.adopt(claim, startedAt, Date.now()).finally(() => claims.end());
  }

  async #deliver({ startedAt, queues }: Reserved, claim: NewClaim | null): Promise<void> {
    if (claim === null) return;
    counts.claimedAtPublish += claim.rows.length;
    for (const { queueId, since } of queues) {
      const row = claim.rows.findLast((one) => one.queue_id === queueId);
      if (row !== undefined)
        this.#options.stateOf(queueId).due.published(since, startedAt.monotonic, row.scheduled_for);
    }
    await this.adopt(claim, startedAt);
  }

  /**
   * Delivers jobs that a publish has claimed for this worker.
   * @param startedAt before the statement was sent
   * @param begunAt as in `ClaimTime`
   */
  async adopt(claim: NewClaim, startedAt: Moment, begunAt?: number): Promise<void> {
    const { db, mayStart, mayDeliver, start, stateOf, hurry } = this.#options;
    const claimed = { now: claim.now, startedAt, answeredAt: performance.now(), begunAt };
    const may = await mayStart(startedAt.monotonic);
    for (const job of claim.rows.flatMap((row) => readable(db, row))) {
      start(ownedBy(stateOf(job.queueId), job.accountId), job, claimed, may && mayDeliver(job.queueId));
    }
    // A job of another process may wait for the next free slot.
    for (const queueId of claim.full) stateOf(queueId).isFull = true;
    if (claim.full.length > 0) hurry();
  }

  #giveBack({ queues }: Reserved): void {
    const { planner, claims, stateOf, wake, forgetIdle } = this.#options;
    for (const { queueId, accountId, jobs, bytes } of queues) {
      const queue = ownedBy(stateOf(queueId), accountId);
      planner.giveBack(queue, jobs, bytes);
      queue.claiming = false;
      if (queue.again !== null) wake(queueId, queue.again);
      else forgetIdle(queue);
    }
    claims.end();
  }

  #reserve({ queueId, accountId, jobs, bytes }: NewJobsOfQueue): boolean {
    const { planner, stateOf, mayDeliver } = this.#options;
    if (!mayDeliver(queueId)) return false;
    const queue = ownedBy(stateOf(queueId), accountId);
    const mayHaveJobs = queue.isReady || queue.claiming || queue.isFull;
    if (mayHaveJobs || !planner.reserve(queue, jobs, bytes)) {
      this.#options.forgetIdle(queue);
      return false;
    }
    // The statement locks the queue, so a claim would be sent in vain: it is sent after `end`.
    queue.claiming = true;
    queue.again = null;
    return true;
  }
}

function ownedBy(queue: QueueState, accountId: string): OwnedQueue {
  queue.accountId = accountId;
  return queue as OwnedQueue;
}
