import type { Database } from '../../db/connection/database.ts';
import { type Claim, type ClaimedJob, type ClaimLimit, claim } from '../../db/delivery/claim.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import { emptyAlone } from '../maintenance/recover.ts';
import { thisMoment } from '../moment.ts';
import { ClaimPlanner, type Plan } from './claim-planner.ts';
import type { ClaimTime } from './deliver.ts';
import { Deliveries } from './deliveries.ts';
import { InFlightCounter } from './in-flight-counter.ts';
import { LockedQueues } from './locked-queues.ts';
import { MissingKeys } from './missing-keys.ts';
import { NewJobs } from './new-jobs.ts';
import type { DispatcherOptions } from './options.ts';
import { QueueAccounts } from './queue-accounts.ts';
import {
  createQueueState,
  isOwned,
  type LocalWakeReason,
  NOTHING,
  type OwnedQueue,
  type QueueState,
} from './queue-state.ts';
import { RecentFailure } from './recent-failure.ts';
import { FIRST_POLL_MS, isExpected, pollForSlot } from './slot-polls.ts';
import { Trickle } from './trickle.ts';

/** Claims that run at once. Queues that become ready meanwhile share the next claim. */
const MAX_CLAIMS = 3;
/** Delay before a failed claim is retried. */
const RETRY_MS = 250;
/**
 * A process rests if it has had no claim, delivery or wake-up for this long: it then does less of the work that only
 * deliveries need. Longer than it takes until a payload is indexed (worker/maintenance/maintenance.ts).
 */
const RESTS_AFTER_MS = 10_000;
/**
 * `setTimeout` fires at once above 2^31-1 ms, and an edit of the queue may change the moment that a timer waits for.
 */
const MAX_TIMER_MS = 60_000;

/**
 * Moves due jobs to their webhooks: claim, deliver, settle, claim again. Call `wake` whenever a queue may have a
 * claimable job. A needless wake costs one cheap claim, and two wakes at once cost one. Claims that the last result
 * shows to be useless are skipped: after a delivery when no job was left, and after a publish when no slot was free.
 * While an account uses its whole share of the process's capacity, its queues wait in the ready list.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Calls `mayClaim` again right before a claim is sent: it may have waited for a connection for seconds. */
  readonly #claiming: Database;
  readonly #mayDeliver: (queueId: string) => boolean;
  readonly #planner: ClaimPlanner<OwnedQueue>;
  readonly #accounts: QueueAccounts;
  readonly #queues = new Map<string, QueueState>();
  #draining = false;
  #isClaimScheduled = false;
  readonly #deliveries: Deliveries;
  readonly #claims = new InFlightCounter();
  /** Claim statements that have not returned. */
  #runningClaims = 0;
  /** The `performance.now()` of the last wake-up, and of the last start or end of a delivery. */
  #activeAt = performance.now();
  readonly #claimFailure = new RecentFailure();
  readonly #trickle: Trickle;
  readonly locked: LockedQueues;
  readonly missingKeys: MissingKeys;
  /** Jobs that this process claims when it publishes them. */
  readonly newJobs: NewJobs;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { mayDeliver = () => true } = options;
    this.#mayDeliver = (queueId) => mayDeliver(queueId) && !this.missingKeys.has(queueId);
    const { db, log, capacity, mayClaim, workerId, leaseMs, mayStart, sender } = options;
    this.#claiming = db.onlyWhile(mayClaim, 'the lease lock is not confirmed, so nothing may be claimed');
    this.#planner = new ClaimPlanner(capacity, MAX_CLAIMS);
    this.locked = new LockedQueues(log, options.whoLocks ?? (async () => []), options.blindRole);
    this.missingKeys = new MissingKeys(log, options.lackedKeys ?? (async () => ({ lacked: [], isElsewhere: false })));
    this.#trickle = new Trickle(sender.egress, () => this.#claimSoon());
    this.#accounts = new QueueAccounts(db, log, (queueId, accountId) => this.#accountFound(queueId, accountId));
    this.#deliveries = new Deliveries(options, (queue, bytes, reason) => this.#ended(queue, bytes, reason));
    this.newJobs = new NewJobs({
      db,
      workerId,
      leaseMs,
      mayStart,
      mayDeliver: this.#mayDeliver,
      planner: this.#planner,
      claims: this.#claims,
      // The one claim that `Trickle` lets pass is for jobs that wait.
      mayClaim: () => !this.#draining && mayClaim() && !sender.egress.isCutOff,
      stateOf: (queueId) => this.#stateOf(queueId),
      start: (queue, job, claimed, mayStart) => this.#start(queue, job, claimed, mayStart),
      wake: (queueId, reason) => this.wake(queueId, reason),
      hurry: () => this.#deliveries.hurry(),
      forgetIdle: (queue) => this.#forgetIdle(queue),
      onUnsure: options.onUnsure,
    });
  }

  get inFlight(): number {
    return this.#deliveries.count;
  }

  /** Ids of the jobs that are being delivered, or whose outcomes are being written. */
  get ids(): ReadonlySet<string> {
    return this.#deliveries.ids;
  }

  /** Deliveries that could begin now. */
  get freeSlots(): number {
    return this.#planner.freeSlots;
  }

  /** Whether this process has had no claims and no wake-ups for some time. */
  get isResting(): boolean {
    const isIdle = this.#deliveries.count === 0 && this.#claims.count === 0;
    return isIdle && performance.now() - this.#activeAt > RESTS_AFTER_MS;
  }

  /** Claims from the queue soon, because it may have work. */
  wake(queueId: string, reason: LocalWakeReason = 'change'): void {
    if (this.#draining) return;
    const wasResting = this.isResting;
    this.#activeAt = performance.now();
    if (wasResting) this.#options.onWoken?.();
    const queue = this.#stateOf(queueId);
    if (queue.claiming) {
      queue.again = queue.again === null || queue.again === reason ? reason : 'change';
      return;
    }
    // A free slot changes nothing if no job waited for one.
    if ((reason === 'job' && queue.isFull && isExpected(queue)) || (reason === 'slot' && !queue.isFull)) return;
    if (queue.timer !== null) clearTimeout(queue.timer);
    queue.timer = null;
    if (!this.#mayDeliver(queueId)) {
      this.#forgetIdle(queue);
      return;
    }
    if (!queue.isReady) {
      queue.isReady = true;
      if (isOwned(queue)) this.#planner.add(queue);
      else this.#accounts.lookUp(queueId);
    }
    this.#claimSoon();
  }

  /**
   * Like `wake`, for an event that only this process knows of. If this process is about to end, or lacks the key of the
   * queue, it notifies the other processes instead.
   */
  wakeSomewhere(queueId: string, reason?: LocalWakeReason): void {
    if (this.#draining || this.missingKeys.has(queueId)) this.#options.passOn?.(queueId);
    else this.wake(queueId, reason);
  }

  /** @returns whether a job of the queue could be claimed at once, as far as this process knows */
  hasRoom(queueId: string): boolean {
    const mayClaim = this.#options.mayClaim() || this.isResting;
    if (this.#draining || !mayClaim || !this.#mayDeliver(queueId)) return false;
    const queue = this.#queues.get(queueId);
    const accountId = queue?.accountId ?? this.#accounts.known(queueId);
    return accountId === null ? this.#planner.hasFreeSlots : this.#planner.hasRoom(accountId, queue ?? NOTHING);
  }

  /** For operators: the operation that fails repeatedly; null when none does. */
  get problem(): string | null {
    if (this.#claimFailure.isRecent) return 'claims fail';
    return this.#deliveries.settleFailure.isRecent ? 'outcomes cannot be written' : null;
  }

  /** Call when `mayClaim` has become true again. */
  resume(): void {
    this.#claimSoon();
  }

  /**
   * Stops claiming; resolves when all claimed jobs have been delivered and settled.
   * @param arriving resolves when no jobs arrive any more that others have claimed for this process
   */
  async drain(arriving: Promise<void> = Promise.resolve()): Promise<void> {
    this.#draining = true;
    this.#trickle.stop();
    this.#planner.clear();
    for (const queue of this.#queues.values()) if (queue.timer !== null) clearTimeout(queue.timer);
    await Promise.all([this.#accounts.stop(), arriving]);
    await this.#claims.idle();
    await this.#deliveries.idle();
  }

  #stateOf(queueId: string): QueueState {
    let queue = this.#queues.get(queueId);
    if (queue === undefined) {
      queue = createQueueState(queueId, this.#accounts.known(queueId), FIRST_POLL_MS);
      this.#queues.set(queueId, queue);
    }
    return queue;
  }

  #accountFound(queueId: string, accountId: string): void {
    const queue = this.#queues.get(queueId);
    if (this.#draining || queue === undefined) return;
    queue.accountId = accountId;
    if (queue.isReady && isOwned(queue)) this.#planner.add(queue);
    this.#claimSoon();
  }

  /** One event loop turn later, because deliveries that were settled together wake their queues together. */
  #claimSoon(): void {
    if (this.#isClaimScheduled) return;
    this.#isClaimScheduled = true;
    setImmediate(() => {
      this.#isClaimScheduled = false;
      this.#claimReady();
    });
  }

  #claimReady(): void {
    while (!this.#draining && this.#planner.hasReady && this.#runningClaims < MAX_CLAIMS && this.#options.mayClaim()) {
      if (!this.#trickle.letsPass()) return;
      const plans = this.#planner.next();
      if (plans.length === 0) return;
      this.#claims.begin();
      void this.#claim(plans).finally(() => this.#claims.end());
    }
  }

  async #claim(plans: Plan<OwnedQueue>[]): Promise<void> {
    for (const { queue } of plans) {
      queue.isReady = false;
      queue.claiming = true;
      queue.again = null;
    }
    const startedAt = thisMoment();
    const limits = plans.map(({ queue, jobs, bytes }) => {
      return { queueId: queue.id, jobs, bytes, since: queue.due.at(startedAt.monotonic) };
    });
    const claims = await this.#query(limits);
    const answeredAt = performance.now();
    const mayStart = claims.size > 0 && (await this.#options.mayStart(startedAt.monotonic));
    this.#planner.claimed(plans, answeredAt - startedAt.monotonic);
    for (const [n, { queue }] of plans.entries()) {
      const claimed = claims.get(queue.id);
      if (claimed === undefined) continue;
      claimed.waitMs = queue.due.claimed(limits[n]?.since ?? null, startedAt.monotonic, claimed);
      for (const job of claimed.jobs) {
        this.#start(queue, job, { now: claimed.now, startedAt, answeredAt }, mayStart);
      }
    }
    this.#claimSoon();
    await Promise.all(plans.map(({ queue }) => this.#endClaim(queue, claims.get(queue.id))));
  }

  async #query(limits: ClaimLimit[]): Promise<Map<string, Claim>> {
    const { log, workerId, leaseMs } = this.#options;
    this.#runningClaims += 1;
    const startedAt = performance.now();
    try {
      const claims = await claim(this.#claiming, { limits, workerId, leaseMs });
      this.#claimFailure.clear();
      let jobs = 0;
      for (const claimed of claims.values()) jobs += claimed.jobs.length;
      counts.claims.done(jobs > 0 ? 'ok' : 'empty', startedAt, jobs);
      return claims;
    } catch (error) {
      this.#claimFailure.record();
      this.locked.claimFailed();
      counts.claims.done('error', startedAt, 0);
      log.warn({ err: error, queueIds: limits.map(({ queueId }) => queueId) }, 'a claim failed and will be retried');
      return new Map();
    } finally {
      this.#runningClaims -= 1;
    }
  }

  async #endClaim(queue: QueueState, claimed: Claim | undefined): Promise<void> {
    const waitMs = await this.#afterClaim(queue.id, claimed).catch((error: unknown) => {
      this.#options.log.warn(
        { err: error, queueId: queue.id },
        'a deleted queue could not be emptied; this will be retried',
      );
      return RETRY_MS;
    });
    queue.claiming = false;
    this.#scheduleNext(queue, waitMs);
  }

  /** @returns milliseconds until the next claim; null: after an event that makes room; infinity: after a new job */
  async #afterClaim(queueId: string, claimed: Claim | undefined): Promise<number | null> {
    if (claimed === undefined) return RETRY_MS;
    if (claimed.queueDeleted) {
      const { db, changes, locks } = this.#options;
      await emptyAlone(db, locks, queueId, changes, () => !this.#draining);
      return null;
    }
    return this.locked.delayOf(queueId, claimed) ?? claimed.waitMs;
  }

  #scheduleNext(queue: QueueState, waitMs: number | null): void {
    if (this.#draining) return;
    queue.isFull = waitMs === null;
    if (queue.isFull) this.#deliveries.hurry();
    if (queue.again !== null) this.wake(queue.id, queue.again);
    if (queue.isReady) return;
    if (queue.inFlight > 0 || !queue.isFull) queue.pollMs = FIRST_POLL_MS;
    if (waitMs === 0) this.wake(queue.id);
    else if (waitMs === null) this.#pollForSlot(queue);
    else if (waitMs !== Number.POSITIVE_INFINITY) this.#wakeIn(waitMs, queue);
    this.#forgetIdle(queue);
  }

  #pollForSlot(queue: QueueState): void {
    if (queue.inFlight > 0) return;
    const wake = () => this.wake(queue.id);
    pollForSlot(queue, wake, () => this.#forgetIdle(queue));
  }

  #wakeIn(ms: number, queue: QueueState): void {
    queue.timer = setTimeout(() => this.wake(queue.id), Math.min(Math.ceil(ms), MAX_TIMER_MS));
  }

  #forgetIdle(queue: QueueState): void {
    const isIdle = queue.inFlight === 0 && !queue.claiming && queue.timer === null && !queue.isReady;
    if (isIdle) this.#queues.delete(queue.id);
  }

  #start(queue: OwnedQueue, job: ClaimedJob, claimed: ClaimTime, mayStart: boolean): void {
    if (this.#options.wasReturned?.(job) === true) return;
    if (job.missingKey !== undefined) this.missingKeys.note(queue.id, job.missingKey);
    this.#activeAt = performance.now();
    this.#planner.begin(queue, job.payload.length);
    queue.inFlight += 1;
    this.#deliveries.start(queue, job, claimed, mayStart);
  }

  #ended(queue: OwnedQueue, bytes: number, reason: LocalWakeReason | null): void {
    this.#activeAt = performance.now();
    this.#planner.end(queue, bytes);
    queue.inFlight -= 1;
    if (reason !== null) this.wakeSomewhere(queue.id, reason);
    this.#forgetIdle(queue);
    this.#claimSoon();
  }
}
