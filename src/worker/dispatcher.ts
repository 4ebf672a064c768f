import { type Claim, type ClaimedJob, claim } from '../db/claim.ts';
import type { Database } from '../db/database.ts';
import type { Sender } from '../delivery/send.ts';
import type { Logger } from '../log.ts';
import { type ClaimTime, type Delivery, deliver } from '../services/deliver.ts';
import type { ChangeFeed } from '../services/live.ts';
import { emptyDeletedQueue } from '../services/recover.ts';
import { SettleBatcher, type SettledDelivery } from './settle-batcher.ts';

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
}

/** What one claim may take: a queue with a long backlog must not keep the others from their turn. */
const MAX_PER_CLAIM = 100;
/** Payloads under way at once. A claim adds 4 MiB and one payload at most (`jobferry_claim`). */
const MAX_PAYLOAD_CHARACTERS = 32 * 1024 * 1024;
/** A claim that failed, or found due jobs that others hold, is tried again after this. */
const RETRY_MS = 250;
/** `setTimeout` above 2^31-1 ms fires at once; and a queue edit may move what a long timer waits for. */
const MAX_TIMER_MS = 60_000;

interface QueueState {
  claiming: boolean;
  /** Something happened while claiming: claim once more. */
  again: boolean;
  timer: NodeJS.Timeout | null;
}

/**
 * Moves due jobs to their webhooks: claim, deliver, settle, claim again. Everything that may let a
 * job of a queue go calls `wake`; waking for nothing costs one cheap claim, and waking twice at
 * once costs nothing. When the capacity of the process is used up, queues wait in a line.
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
  readonly #deliveries = new Set<Promise<void>>();
  readonly #claims = new Set<Promise<void>>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#free = options.capacity;
    this.#settles = new SettleBatcher(options.db, (settled, applied) => this.#settled(settled, applied));
  }

  get inFlight(): number {
    return this.#deliveries.size;
  }

  /** Says that the queue may have work. */
  wake(queueId: string): void {
    if (this.#draining) return;
    const queue = this.#stateOf(queueId);
    if (queue.claiming) {
      queue.again = true;
      return;
    }
    if (queue.timer !== null) clearTimeout(queue.timer);
    queue.timer = null;
    this.#line.add(queueId);
    this.#pumpSoon();
  }

  /** Claims nothing more; resolves when what is under way has been delivered and settled. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#line.clear();
    for (const queue of this.#queues.values()) if (queue.timer !== null) clearTimeout(queue.timer);
    await Promise.all(this.#claims);
    await Promise.all(this.#deliveries);
    await this.#settles.idle();
  }

  #stateOf(queueId: string): QueueState {
    let queue = this.#queues.get(queueId);
    if (queue === undefined) {
      queue = { claiming: false, again: false, timer: null };
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
    if (this.#draining) return;
    for (const queueId of this.#line) {
      if (this.#free <= 0 || this.#payloadCharacters >= MAX_PAYLOAD_CHARACTERS) return;
      this.#line.delete(queueId);
      const limit = Math.min(this.#free, MAX_PER_CLAIM);
      this.#free -= limit;
      const claiming = this.#claim(queueId, limit).finally(() => this.#claims.delete(claiming));
      this.#claims.add(claiming);
    }
  }

  async #claim(queueId: string, limit: number): Promise<void> {
    const { db, log, workerId, leaseMs } = this.#options;
    const queue = this.#stateOf(queueId);
    queue.claiming = true;
    queue.again = false;
    const monotonic = performance.now();
    let waitMs: number | null = RETRY_MS;
    let taken = 0;
    try {
      const claimed = await claim(db, { queueId, capacity: limit, workerId, leaseMs });
      taken = claimed.jobs.length;
      for (const job of claimed.jobs) {
        this.#start(job, { now: claimed.now, monotonic });
        this.#changed(job);
      }
      waitMs = await this.#afterClaim(queueId, claimed);
    } catch (error) {
      log.warn({ err: error, queueId }, 'claim failed, trying again');
    }
    this.#free += limit - taken;
    queue.claiming = false;
    this.#scheduleNext(queueId, queue, waitMs);
    this.#pumpSoon();
  }

  /** When to claim again by ourselves; null waits for an event. */
  async #afterClaim(queueId: string, claimed: Claim): Promise<number | null> {
    if (claimed.queueDeleted) {
      await emptyDeletedQueue(this.#options.db, queueId, this.#options.changes);
      return null;
    }
    if (claimed.waitMs === 0 && claimed.jobs.length === 0) return RETRY_MS; // due, but locked by somebody
    return claimed.waitMs;
  }

  #scheduleNext(queueId: string, queue: QueueState, waitMs: number | null): void {
    if (this.#draining) return;
    if (queue.again || waitMs === 0) {
      this.wake(queueId);
    } else if (waitMs !== null) {
      queue.timer = setTimeout(() => this.wake(queueId), Math.min(Math.ceil(waitMs), MAX_TIMER_MS));
    } else {
      this.#queues.delete(queueId); // nothing to remember
    }
  }

  #start(job: ClaimedJob, claimed: ClaimTime): void {
    const { sender, log, leaseMs, webhookTimeoutMs } = this.#options;
    this.#payloadCharacters += job.payload.length;
    const work = deliver(sender, job, claimed, leaseMs - webhookTimeoutMs)
      .then((delivery: Delivery) => {
        const giveUpAt = claimed.monotonic + leaseMs;
        return this.#settles.add({ job, delivery, giveUpAt });
      })
      .catch((error: unknown) => {
        // The lease ends by itself, and the job goes back without an attempt counted.
        log.error({ err: error, jobId: job.id }, 'a delivery could not be settled');
      })
      .finally(() => {
        this.#deliveries.delete(work);
        this.#payloadCharacters -= job.payload.length;
        this.#free += 1;
        this.wake(job.queueId);
        this.#pumpSoon();
      });
    this.#deliveries.add(work);
  }

  #changed({ accountId, queueId, id: jobId }: ClaimedJob): void {
    this.#options.changes.changed({ accountId, queueId, jobId });
  }

  /** The one wide line per attempt; never the payload, the secret or the address's credentials. */
  #settled({ job, delivery }: SettledDelivery, applied: boolean): void {
    const { transition } = delivery.settlement;
    if (applied) this.#changed(job);
    this.#options.log.info(
      {
        jobId: job.id,
        queue: job.queueName,
        queueId: job.queueId,
        accountId: job.accountId,
        attempt: job.state.attempts,
        maxAttempts: job.state.maxAttempts,
        outcome: delivery.outcome,
        statusCode: delivery.settlement.answer?.statusCode ?? null,
        error: transition.entry?.error ?? null,
        durationMs: delivery.durationMs,
        status: transition.status,
        retryInMs: transition.status === 'pending' ? transition.waitMs : null,
        deadReason: transition.deadReason,
        probe: job.rules.isProbe,
        applied,
      },
      'attempt',
    );
  }
}
