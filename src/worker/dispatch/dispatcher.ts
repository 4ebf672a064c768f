import type { Database } from '../../db/connection/database.ts';
import { type Claim, type ClaimedJob, claim } from '../../db/delivery/claim.ts';
import type { Sender } from '../../delivery/send.ts';
import type { ChangeFeed } from '../../live/live.ts';
import type { Logger } from '../../log.ts';
import { Starts } from '../../pacing/starts.ts';
import { emptyDeletedQueue } from '../maintenance/recover.ts';
import { thisMoment } from '../moment.ts';
import { logAttempt } from './attempt-log.ts';
import { ClaimPlanner, type Plan } from './claim-planner.ts';
import { type ClaimTime, type Delivery, deliver } from './deliver.ts';
import { LastTry } from './last-try.ts';
import { QueueAccounts } from './queue-accounts.ts';
import { createQueueState, isOwned, type News, NOTHING, type OwnedQueue, type QueueState } from './queue-state.ts';
import { SettleBatcher, type SettledDelivery } from './settle-batcher.ts';
import { UnderWay } from './under-way.ts';

export interface DispatcherOptions {
  db: Database;
  sender: Sender;
  log: Logger;
  changes: ChangeFeed;
  workerId: number;
  /** Deliveries under way at once in this process. */
  capacity: number;
  leaseMs: number;
  /** A process that others take for dead must not claim: they would deliver the same at the same time. */
  mayClaim: () => boolean;
  /** The same of the deliveries of a claim that was asked for at this `performance.now()`. */
  mayStart: (claimedAt: number) => Promise<boolean>;
  /** An outcome was refused although the lease of its claim was not over. */
  onRefused: (claimedAt: number) => void;
}

/** Claims at once; what comes meanwhile shares the next one. */
const MAX_CLAIMS = 3;
/** A claim that failed is tried again after this. */
const RETRY_MS = 250;
/** A queue that somebody holds just now, or whose due jobs somebody does, is asked again after about so long. */
const HELD_MS = 25;
/**
 * A queue whose slots are all taken by other processes is looked at again after this, and then after twice as long each
 * time: it falls to whoever looks when a slot is free. After the last look the reconciler does that.
 */
const FIRST_LOOK_MS = 50;
const LAST_LOOK_MS = 3200;
/** Of deliveries: each takes a few tenths of a millisecond to begin, and a claim has up to 320. */
const PACE = { items: 16, ms: 5 };
/** `setTimeout` above 2^31-1 ms fires at once; and a queue edit may move what a long timer waits for. */
const MAX_TIMER_MS = 60_000;

/**
 * Moves due jobs to their webhooks: claim, deliver, settle, claim again. Everything that may let a
 * job of a queue go calls `wake`; waking for nothing costs one cheap claim, and waking twice at
 * once costs nothing. What the last claim said spares those that are known to give nothing: after a
 * delivery when no job was left, after a publish when no slot was. When an account has its share of the
 * process's capacity, its queues wait in the ready list.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** A claim may wait for a connection for seconds, and the lease lock be lost meanwhile. */
  readonly #claiming: Database;
  readonly #settles: SettleBatcher;
  readonly #planner: ClaimPlanner<OwnedQueue>;
  readonly #accounts: QueueAccounts;
  readonly #queues = new Map<string, QueueState>();
  readonly #starts = new Starts(PACE);
  #draining = false;
  #pumping = false;
  readonly #deliveries = new UnderWay();
  readonly #claims = new UnderWay();
  /** Claims that the database has not answered. */
  #asked = 0;
  #lastClaim = new LastTry();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { db, log, capacity, mayClaim } = options;
    this.#claiming = db.onlyWhile(mayClaim, 'the lease lock is not confirmed, so nothing may be claimed');
    this.#planner = new ClaimPlanner(capacity, MAX_CLAIMS);
    this.#accounts = new QueueAccounts(db, log, (queueId, accountId) => this.#accountFound(queueId, accountId));
    this.#settles = new SettleBatcher(db, (settled, applied) => this.#settled(settled, applied));
  }

  get inFlight(): number {
    return this.#deliveries.count;
  }

  /** Says that the queue may have work. */
  wake(queueId: string, news: News = 'change'): void {
    if (this.#draining) return;
    const queue = this.#stateOf(queueId);
    if (queue.claiming) {
      queue.again = queue.again === null || queue.again === news ? news : 'change';
      return;
    }
    // A job that finds no slot waits for a delivery of ours to end, or for our next look; and a slot that nobody
    // waited for is nothing new.
    const isExpected = queue.inFlight > 0 || queue.timer !== null;
    if ((news === 'job' && queue.isFull && isExpected) || (news === 'slot' && !queue.isFull)) return;
    if (queue.timer !== null) clearTimeout(queue.timer);
    queue.timer = null;
    if (!queue.isReady) {
      queue.isReady = true;
      if (isOwned(queue)) this.#planner.add(queue);
      else this.#accounts.lookUp(queueId);
    }
    this.#pumpSoon();
  }

  /** Whether a job of the queue could be claimed at once, as far as is known. */
  hasRoom(queueId: string): boolean {
    if (this.#draining || !this.#options.mayClaim()) return false;
    const queue = this.#queues.get(queueId);
    const accountId = queue?.accountId ?? this.#accounts.known(queueId);
    return accountId === null ? this.#planner.hasFreeSlots : this.#planner.hasRoom(accountId, queue ?? NOTHING);
  }

  /** For people: what keeps going wrong; null when nothing does. */
  get problem(): string | null {
    if (this.#lastClaim.failed) return 'claims fail';
    return this.#settles.lastTry.failed ? 'outcomes cannot be written' : null;
  }

  /** Says that it may claim again. */
  resume(): void {
    this.#pumpSoon();
  }

  /** Claims nothing more; resolves when what is under way has been delivered and settled. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#planner.clear();
    for (const queue of this.#queues.values()) if (queue.timer !== null) clearTimeout(queue.timer);
    await this.#accounts.stop();
    await this.#claims.idle();
    await this.#deliveries.idle();
    await this.#settles.idle();
  }

  #stateOf(queueId: string): QueueState {
    let queue = this.#queues.get(queueId);
    if (queue === undefined) {
      queue = createQueueState(queueId, this.#accounts.known(queueId), FIRST_LOOK_MS);
      this.#queues.set(queueId, queue);
    }
    return queue;
  }

  #accountFound(queueId: string, accountId: string): void {
    const queue = this.#queues.get(queueId);
    if (this.#draining || queue === undefined) return;
    queue.accountId = accountId;
    if (queue.isReady && isOwned(queue)) this.#planner.add(queue);
    this.#pumpSoon();
  }

  /** A turn later, because deliveries that were settled together wake their queue together. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (!this.#draining && this.#planner.hasReady && this.#asked < MAX_CLAIMS && this.#options.mayClaim()) {
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
    const asked = thisMoment();
    const claims = await this.#ask(plans);
    const askedForMs = performance.now() - asked.monotonic;
    const mayStart = claims.size > 0 && (await this.#options.mayStart(asked.monotonic));
    this.#planner.claimed(plans, askedForMs);
    for (const { queue } of plans) {
      const claimed = claims.get(queue.id);
      if (claimed === undefined) continue;
      for (const job of claimed.jobs) {
        this.#start(queue, job, { now: claimed.now, asked }, mayStart);
        this.#changed(job);
      }
    }
    this.#pumpSoon();
    await Promise.all(plans.map(({ queue }) => this.#endClaim(queue, claims.get(queue.id))));
  }

  async #ask(plans: Plan<OwnedQueue>[]): Promise<Map<string, Claim>> {
    const { log, workerId, leaseMs } = this.#options;
    const limits = plans.map(({ queue, jobs, bytes }) => ({ queueId: queue.id, jobs, bytes }));
    this.#asked += 1;
    try {
      const claims = await claim(this.#claiming, { limits, workerId, leaseMs });
      this.#lastClaim.succeeds();
      return claims;
    } catch (error) {
      this.#lastClaim.fails();
      log.warn({ err: error, queueIds: limits.map(({ queueId }) => queueId) }, 'claim failed, trying again');
      return new Map();
    } finally {
      this.#asked -= 1;
    }
  }

  async #endClaim(queue: QueueState, claimed: Claim | undefined): Promise<void> {
    const waitMs = await this.#afterClaim(queue.id, claimed).catch((error: unknown) => {
      this.#options.log.warn({ err: error, queueId: queue.id }, 'a deleted queue could not be emptied, trying again');
      return RETRY_MS;
    });
    queue.claiming = false;
    this.#scheduleNext(queue, waitMs);
  }

  /** When to claim again by ourselves; null waits for room, and infinity for jobs. */
  async #afterClaim(queueId: string, claimed: Claim | undefined): Promise<number | null> {
    if (claimed === undefined) return RETRY_MS;
    if (claimed.queueDeleted) {
      await emptyDeletedQueue(this.#options.db, queueId, this.#options.changes);
      return null;
    }
    // Processes that ask at the same moments would stand in each other's way again.
    if (claimed.waitMs === 0 && claimed.jobs.length === 0) return HELD_MS * (0.5 + Math.random());
    return claimed.waitMs;
  }

  #scheduleNext(queue: QueueState, waitMs: number | null): void {
    if (this.#draining) return;
    queue.isFull = waitMs === null;
    if (queue.again !== null) this.wake(queue.id, queue.again);
    if (queue.isReady) return;
    if (queue.inFlight > 0 || !queue.isFull) queue.lookMs = FIRST_LOOK_MS;
    if (waitMs === 0) this.wake(queue.id);
    else if (waitMs === null) this.#lookForSlot(queue);
    else if (waitMs !== Number.POSITIVE_INFINITY) this.#wakeIn(waitMs, queue);
    this.#forgetIdle(queue);
  }

  #lookForSlot(queue: QueueState): void {
    if (queue.inFlight > 0 || queue.lookMs > LAST_LOOK_MS) return;
    // Processes that look at the same moments would find the same.
    this.#wakeIn(queue.lookMs * (0.5 + Math.random()), queue);
    queue.lookMs *= 2;
  }

  #wakeIn(ms: number, queue: QueueState): void {
    queue.timer = setTimeout(() => this.wake(queue.id), Math.min(Math.ceil(ms), MAX_TIMER_MS));
  }

  #forgetIdle(queue: QueueState): void {
    const isIdle = queue.inFlight === 0 && !queue.claiming && queue.timer === null && !queue.isReady;
    if (isIdle) this.#queues.delete(queue.id);
  }

  #start(queue: OwnedQueue, job: ClaimedJob, claimed: ClaimTime, mayStart: boolean): void {
    const { sender, log, leaseMs } = this.#options;
    const bytes = job.payload.length;
    this.#planner.begin(queue, bytes);
    queue.inFlight += 1;
    // What could not be settled is taken back when its lease ends.
    let news: News | null = null;
    this.#deliveries.begin();
    // What may not start goes back at once, without an attempt counted.
    const start = () => deliver(sender, job, claimed, mayStart ? leaseMs : 0);
    void new Promise<Delivery>((resolve) => this.#starts.add(queue.accountId, () => resolve(start())))
      .then(async (delivery) => {
        const giveUpAt = claimed.asked.monotonic + leaseMs;
        await this.#settles.add({ job, delivery, giveUpAt });
        const { status } = delivery.settlement.transition;
        if (status !== 'awaiting_ack') news = status === 'pending' ? 'change' : 'slot';
      })
      .catch((error: unknown) => {
        // The lease ends by itself, and the job goes back without an attempt counted.
        log.error({ err: error, jobId: job.id }, 'a delivery could not be settled');
      })
      .finally(() => {
        this.#deliveries.end();
        this.#planner.end(queue, bytes);
        queue.inFlight -= 1;
        if (news !== null) this.wake(queue.id, news);
        this.#forgetIdle(queue);
        this.#pumpSoon();
      });
  }

  #changed({ accountId, queueId, id: jobId }: ClaimedJob): void {
    this.#options.changes.changed({ accountId, queueId, jobId });
  }

  #settled(settled: SettledDelivery, applied: boolean): void {
    if (applied) this.#changed(settled.job);
    else this.#refused(settled);
    logAttempt(this.#options.log, settled, applied);
  }

  #refused({ giveUpAt, wasTried }: SettledDelivery): void {
    // One that was tried before may have been written then; and after its lease anybody may have been first.
    const { leaseMs, onRefused } = this.#options;
    if (!wasTried && performance.now() < giveUpAt) onRefused(giveUpAt - leaseMs);
  }
}
