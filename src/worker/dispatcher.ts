import { type Claim, type ClaimedJob, claim } from '../db/claim.ts';
import type { Database } from '../db/database.ts';
import type { CallReason } from '../db/wake-ups.ts';
import type { Sender } from '../delivery/send.ts';
import type { Logger } from '../log.ts';
import { type ClaimTime, type Delivery, deliver } from '../services/deliver.ts';
import type { ChangeFeed } from '../services/live.ts';
import { emptyDeletedQueue } from '../services/recover.ts';
import { logAttempt } from './attempt-log.ts';
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
  webhookTimeoutMs: number;
  leaseMs: number;
  /** A process that others take for dead must not claim: they would deliver the same at the same time. */
  mayClaim: () => boolean;
}

/** What a claim may take of a queue: one with a long backlog must not keep the others from their turn. */
const MAX_PER_QUEUE = 100;
/** What a claim may take of all its queues, so that one that takes long leaves capacity to the others. */
const MAX_PER_CLAIM = 320;
/** Claims of an account wait for each other at its usage, so one for many queues is better than many. */
const MAX_QUEUES = 16;
/** Claims at once; what comes meanwhile shares the next one. */
const MAX_CLAIMS = 3;
/** Payloads under way at once. A claim adds 4 MiB and a payload of each queue at most (`jobferry_claim`). */
const MAX_PAYLOAD_CHARACTERS = 32 * 1024 * 1024;
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
/** `setTimeout` above 2^31-1 ms fires at once; and a queue edit may move what a long timer waits for. */
const MAX_TIMER_MS = 60_000;

/** Why a queue may have work: a job was published, a delivery of ours has freed its slot, or anything else. */
export type News = CallReason | 'slot';

interface QueueState {
  claiming: boolean;
  /** Something happened while claiming: claim once more. */
  again: News | null;
  timer: NodeJS.Timeout | null;
  /** The last claim could take no more before a delivery ends, a pause does, or the like. */
  isFull: boolean;
  /** When to look again for a slot. */
  lookMs: number;
  /** Deliveries of this process. */
  inFlight: number;
}

/**
 * Moves due jobs to their webhooks: claim, deliver, settle, claim again. Everything that may let a
 * job of a queue go calls `wake`; waking for nothing costs one cheap claim, and waking twice at
 * once costs nothing. What the last claim said spares those that are known to give nothing: after a
 * delivery when no job was left, after a publish when no slot was. When the capacity of the process is
 * used up, queues wait in a line.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #settles: SettleBatcher;
  readonly #queues = new Map<string, QueueState>();
  /** Queues that have work and wait for capacity, first come first served. */
  readonly #line = new Set<string>();
  #free: number;
  #payloadCharacters = 0;
  #draining = false;
  #pumping = false;
  readonly #deliveries = new UnderWay();
  readonly #claims = new UnderWay();
  /** Claims that the database has not answered. */
  #asked = 0;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#free = options.capacity;
    this.#settles = new SettleBatcher(options.db, (settled, applied) => this.#settled(settled, applied));
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
    this.#line.add(queueId);
    this.#pumpSoon();
  }

  /** Whether a job could be claimed at once. */
  get hasRoom(): boolean {
    if (this.#draining || !this.#options.mayClaim()) return false;
    return this.#free > 0 && this.#payloadCharacters < MAX_PAYLOAD_CHARACTERS;
  }

  /** Says that it may claim again. */
  resume(): void {
    this.#pumpSoon();
  }

  /** Claims nothing more; resolves when what is under way has been delivered and settled. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#line.clear();
    for (const queue of this.#queues.values()) if (queue.timer !== null) clearTimeout(queue.timer);
    await this.#claims.idle();
    await this.#deliveries.idle();
    await this.#settles.idle();
  }

  #stateOf(queueId: string): QueueState {
    let queue = this.#queues.get(queueId);
    if (queue === undefined) {
      queue = { claiming: false, again: null, timer: null, isFull: false, lookMs: FIRST_LOOK_MS, inFlight: 0 };
      this.#queues.set(queueId, queue);
    }
    return queue;
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
    while (!this.#draining && this.#line.size > 0 && this.#asked < MAX_CLAIMS && this.hasRoom) {
      const queueIds = this.#nextInLine(Math.min(MAX_QUEUES, this.#free));
      const limit = Math.min(Math.floor(Math.min(this.#free, MAX_PER_CLAIM) / queueIds.length), MAX_PER_QUEUE);
      this.#free -= limit * queueIds.length;
      this.#claims.begin();
      void this.#claim(queueIds, limit).finally(() => this.#claims.end());
    }
  }

  #nextInLine(count: number): string[] {
    const next: string[] = [];
    for (const queueId of this.#line) {
      if (next.length === count) break;
      this.#line.delete(queueId);
      next.push(queueId);
    }
    return next;
  }

  async #claim(queueIds: string[], limit: number): Promise<void> {
    for (const queueId of queueIds) {
      const queue = this.#stateOf(queueId);
      queue.claiming = true;
      queue.again = null;
    }
    const monotonic = performance.now();
    const claims = await this.#ask(queueIds, limit);
    this.#free += limit * queueIds.length;
    for (const { now, jobs } of claims.values()) {
      this.#free -= jobs.length;
      for (const job of jobs) {
        this.#start(job, { now, monotonic });
        this.#changed(job);
      }
    }
    this.#pumpSoon();
    await Promise.all(queueIds.map((queueId) => this.#endClaim(queueId, claims.get(queueId))));
  }

  async #ask(queueIds: string[], capacity: number): Promise<Map<string, Claim>> {
    const { db, log, workerId, leaseMs } = this.#options;
    this.#asked += 1;
    try {
      return await claim(db, { queueIds, capacity, workerId, leaseMs });
    } catch (error) {
      log.warn({ err: error, queueIds }, 'claim failed, trying again');
      return new Map();
    } finally {
      this.#asked -= 1;
    }
  }

  async #endClaim(queueId: string, claimed: Claim | undefined): Promise<void> {
    const waitMs = await this.#afterClaim(queueId, claimed).catch((error: unknown) => {
      this.#options.log.warn({ err: error, queueId }, 'a deleted queue could not be emptied, trying again');
      return RETRY_MS;
    });
    const queue = this.#stateOf(queueId);
    queue.claiming = false;
    this.#scheduleNext(queueId, queue, waitMs);
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

  #scheduleNext(queueId: string, queue: QueueState, waitMs: number | null): void {
    if (this.#draining) return;
    queue.isFull = waitMs === null;
    if (queue.again !== null) this.wake(queueId, queue.again);
    if (this.#line.has(queueId)) return;
    if (queue.inFlight > 0 || !queue.isFull) queue.lookMs = FIRST_LOOK_MS;
    if (waitMs === 0) this.wake(queueId);
    else if (waitMs === null) this.#lookForSlot(queueId, queue);
    else if (waitMs !== Number.POSITIVE_INFINITY) this.#wakeIn(waitMs, queueId, queue);
    this.#forgetIdle(queueId, queue);
  }

  #lookForSlot(queueId: string, queue: QueueState): void {
    if (queue.inFlight > 0 || queue.lookMs > LAST_LOOK_MS) return;
    // Processes that look at the same moments would find the same.
    this.#wakeIn(queue.lookMs * (0.5 + Math.random()), queueId, queue);
    queue.lookMs *= 2;
  }

  #wakeIn(ms: number, queueId: string, queue: QueueState): void {
    queue.timer = setTimeout(() => this.wake(queueId), Math.min(Math.ceil(ms), MAX_TIMER_MS));
  }

  #forgetIdle(queueId: string, queue: QueueState): void {
    const isIdle = queue.inFlight === 0 && !queue.claiming && queue.timer === null && !this.#line.has(queueId);
    if (isIdle) this.#queues.delete(queueId);
  }

  #start(job: ClaimedJob, claimed: ClaimTime): void {
    const { sender, log, leaseMs } = this.#options;
    this.#payloadCharacters += job.payload.length;
    const queue = this.#stateOf(job.queueId);
    queue.inFlight += 1;
    // What could not be settled is taken back when its lease ends.
    let news: News | null = null;
    this.#deliveries.begin();
    void deliver(sender, job, claimed, leaseMs)
      .then(async (delivery: Delivery) => {
        const giveUpAt = claimed.monotonic + leaseMs;
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
        this.#payloadCharacters -= job.payload.length;
        this.#free += 1;
        queue.inFlight -= 1;
        if (news !== null) this.wake(job.queueId, news);
        this.#forgetIdle(job.queueId, queue);
        this.#pumpSoon();
      });
  }

  #changed({ accountId, queueId, id: jobId }: ClaimedJob): void {
    this.#options.changes.changed({ accountId, queueId, jobId });
  }

  #settled(settled: SettledDelivery, applied: boolean): void {
    if (applied) this.#changed(settled.job);
    logAttempt(this.#options.log, settled, applied);
  }
}
