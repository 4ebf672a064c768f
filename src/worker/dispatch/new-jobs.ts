import type { ClaimedJob } from '../../db/delivery/claim.ts';
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

  end(reservation: Reservation, claim: NewClaim | null): void {
    const reserved = reservation as Reserved;
    void this.#deliver(reserved, claim).finally(() => this.#giveBack(reserved));
  }

  async #deliver({ startedAt, queues }: Reserved, claim: NewClaim | null): Promise<void> {
    if (claim === null) return;
    counts.claimedAtPublish += claim.jobs.length;
    const { mayStart, start, stateOf, hurry } = this.#options;
    for (const { queueId, since } of queues) {
      const job = claim.jobs.findLast((one) => one.queueId === queueId);
      if (job !== undefined) stateOf(queueId).due.published(since, startedAt.monotonic, job);
    }
    const claimed = { now: claim.now, startedAt, answeredAt: performance.now() };
    const may = await mayStart(startedAt.monotonic);
    for (const job of claim.jobs) start(ownedBy(stateOf(job.queueId), job.accountId), job, claimed, may);
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
