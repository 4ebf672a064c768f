import type { ClaimedJob } from '../../db/delivery/claim.ts';
import { traceIdOf } from '../../domain/trace.ts';
import { Starts } from '../../pacing/starts.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import { AttemptLog } from './attempt-log.ts';
import { type ClaimTime, type Delivery, deliver } from './deliver.ts';
import { InFlightCounter } from './in-flight-counter.ts';
import type { DispatcherOptions } from './options.ts';
import type { LocalWakeReason, OwnedQueue } from './queue-state.ts';
import type { RecentFailure } from './recent-failure.ts';
import { SettleBatcher, type SettledDelivery } from './settle-batcher.ts';

/** Pace at which deliveries start: each start takes a few tenths of a millisecond, and a claim has up to 320. */
const PACE = { items: 16, ms: 5 };

/** With more deliveries than this a process is under load. */
const FEW = 16;

/**
 * Called when a delivery has ended. `bytes` is the size of its payload. `reason` is why the queue may have work now. It
 * is null if the end of the delivery makes nothing claimable, or if the outcome could not be written: then the job is
 * taken back when its lease ends.
 */
type OnEnd = (queue: OwnedQueue, bytes: number, reason: LocalWakeReason | null) => void;

/** Runs the deliveries of claimed jobs, and writes their outcomes. */
export class Deliveries {
  readonly #options: DispatcherOptions;
  readonly #onEnd: OnEnd;
  readonly #starts = new Starts(PACE);
  readonly #running = new InFlightCounter();
  readonly #ids = new Set<string>();
  readonly #settles: SettleBatcher;
  readonly #attempts: AttemptLog;

  constructor(options: DispatcherOptions, onEnd: OnEnd) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#attempts = new AttemptLog(options.log);
    this.#settles = new SettleBatcher(options.db, (settled, applied) => this.#settled(settled, applied));
  }

  get count(): number {
    return this.#running.count;
  }

  /** Ids of the jobs that are being delivered, or whose outcomes are being written. */
  get ids(): ReadonlySet<string> {
    return this.#ids;
  }

  get settleFailure(): RecentFailure {
    return this.#settles.failure;
  }

  /** Writes outcomes at once, because jobs wait for the slots of those that have ended. */
  hurry(): void {
    this.#settles.hurry();
  }

  /** Resolves when all claimed jobs have been delivered, and their outcomes are written. */
  async idle(): Promise<void> {
    await this.#running.idle();
    await this.#settles.idle();
  }

  /**
   * Delivers a job that this process has claimed.
   * @param mayStart false gives the job back, and no attempt is counted
   */
  start(queue: OwnedQueue, job: ClaimedJob, claimed: ClaimTime, mayStart: boolean): void {
    const { sender, log, leaseMs, stillHolds, tracing, followed, isTunnelled } = this.#options;
    const bytes = job.payload.length;
    let reason: LocalWakeReason | null = null;
    this.#running.begin();
    this.#ids.add(job.id);
    this.#changed(job);
    // A delivery whose claim is not held is abandoned: the job goes back at once, and no attempt is counted.
    const isHeld = () => mayStart && stillHolds(claimed.startedAt.monotonic);
    const attempt = tracing?.startAttempt(job, claimed.begunAt ?? claimed.startedAt.wall) ?? null;
    if (attempt !== null) job.trace = attempt.trace;
    const start = () => {
      const { standardWebhooks = false, breaker = false } = followed?.of(job.queueId) ?? {};
      if (breaker && isTunnelled?.(job.queueId) !== true) job.rules.hasBreaker = true;
      const additions = { attempt, standardWebhooks };
      return deliver(sender, job, claimed, { leaseMs, isHeld }, additions);
    };
    void new Promise<Delivery>((resolve) => this.#starts.add(queue.accountId, () => resolve(start())))
      .then(async (delivery) => {
        const giveUpAt = claimed.startedAt.monotonic + leaseMs;
        const { status } = delivery.settlement.transition;
        const settling = this.#settles.add({ job, delivery, giveUpAt }, this.#mayWait(queue, job, status));
        await (attempt === null ? settling : attempt.settle(job.queueName, status, settling));
        // A receipt closes the breaker that its job has probed.
        if (status !== 'awaiting_ack') reason = status === 'pending' ? 'change' : 'slot';
        else if (job.rules.hasBreaker === true && job.rules.isProbe) reason = 'change';
      })
      .catch((error: unknown) => {
        // When the lease ends, the job goes back and no attempt is counted.
        log.error(
          { err: error, jobId: job.id, traceId: traceIdOf(job.trace) },
          'the outcome of a delivery could not be written',
        );
      })
      .finally(() => {
        this.#running.end();
        this.#ids.delete(job.id);
        this.#onEnd(queue, bytes, reason);
      });
  }

  /** Whether nothing waits for the outcome. Under load, outcomes share statements anyway. */
  #mayWait({ isFull, isReady }: OwnedQueue, { rules }: ClaimedJob, status: string): boolean {
    const mayBeExpected = isFull || isReady || rules.isProbe;
    return status === 'completed' && !mayBeExpected && this.#running.count <= FEW;
  }

  #changed({ accountId, queueId, id: jobId }: ClaimedJob): void {
    this.#options.changes.changed({ accountId, queueId, jobId });
  }

  #settled(settled: SettledDelivery, applied: boolean): void {
    if (applied) {
      counts.settled(settled.job.queueId, settled.delivery.settlement.transition);
      this.#changed(settled.job);
    } else {
      counts.droppedOutcomes += 1;
      this.#refused(settled);
    }
    this.#attempts.write(settled, applied);
  }

  #refused({ giveUpAt, wasTried }: SettledDelivery): void {
    // An earlier try may have written the outcome, and after the lease another process may have settled the job.
    const { leaseMs, onRefused } = this.#options;
    if (!wasTried && performance.now() < giveUpAt) onRefused(giveUpAt - leaseMs);
  }
}
