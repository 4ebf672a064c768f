import { type OfAccount, ReadyList } from '../../pacing/ready-list.ts';
import { type Amount, Shares } from './shares.ts';

/** Jobs per queue and claim, so that a queue with a long backlog does not delay the others. */
const MAX_PER_QUEUE = 100;
/** Jobs per claim, so that a slow claim leaves capacity for other claims. */
const MAX_PER_CLAIM = 320;
/** Queues per claim. Claims of an account block each other on its usage row, so one claim for many queues is faster. */
const MAX_QUEUES = 16;
/** Payload bytes per claim. The last job of each queue may exceed it. */
const MAX_BYTES_PER_CLAIM = 4 * 1024 * 1024;
/** Payload bytes in flight in a process. Claims leave a part of it free for accounts that use less (`Shares`). */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;
/** An account whose claim took longer does not share its next claim with other accounts. */
const SLOW_MS = 500;
/** Accounts remembered for slow claims. */
const MAX_SLOW = 1000;

/** A queue with its slots and bytes in flight, including those reserved for claims. */
export interface SharingQueue extends OfAccount, Amount {}

/** The jobs that a claim may take from a queue. Their places are reserved until the claim returns. */
export interface Plan<Queue extends SharingQueue> {
  queue: Queue;
  jobs: number;
  bytes: number;
}

/** Decides which queues the next claim covers, and how much it may take from each. */
export class ClaimPlanner<Queue extends SharingQueue> {
  readonly #shares: Shares;
  readonly #ready = new ReadyList<Queue>();
  readonly #maxClaims: number;
  /** Number of running claims by account. */
  readonly #claims = new Map<string, number>();
  readonly #slow = new Set<string>();

  /** @param maxClaims claims that may run at once; one account may use all but one of them */
  constructor(capacity: number, maxClaims: number) {
    this.#shares = new Shares({ slots: capacity, bytes: MAX_PAYLOAD_BYTES });
    this.#maxClaims = maxClaims;
  }

  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  get freeSlots(): number {
    return this.#shares.freeSlots;
  }

  get hasFreeSlots(): boolean {
    return this.freeSlots > 0;
  }

  /** @returns whether a job of the account's queue, which already uses the amount `queue`, could be claimed now */
  hasRoom(accountId: string, queue: Amount): boolean {
    return this.#shares.ofQueue(accountId, queue) !== null;
  }

  add(queue: Queue): void {
    this.#ready.add(queue);
  }

  clear(): void {
    this.#ready.clear();
  }

  /** @returns the next claim, by queue; empty when no account in the ready list may take more */
  next(): Plan<Queue>[] {
    // Accounts with few slots come first. The others get what is left.
    let taken = this.#take((accountId) => this.#shares.isBelowAverage(accountId));
    if (taken.length === 0) taken = this.#take(() => true);
    if (taken.length === 0) return [];
    for (const accountId of accountsOf(taken)) this.#claims.set(accountId, (this.#claims.get(accountId) ?? 0) + 1);
    // One job of each queue is reserved. Now that the number of queues is known, reserve the rest.
    const jobs = Math.min(MAX_PER_QUEUE, Math.floor(MAX_PER_CLAIM / taken.length)) - 1;
    const bytes = Math.floor(MAX_BYTES_PER_CLAIM / taken.length) - 1;
    return taken.map((queue) => {
      const more = this.#reserve(queue, jobs, bytes);
      return { queue, jobs: 1 + (more?.slots ?? 0), bytes: 1 + (more?.bytes ?? 0) };
    });
  }

  /** Releases what was reserved for a claim that has returned or failed. */
  claimed(plans: readonly Plan<Queue>[], durationMs: number): void {
    for (const { queue, jobs, bytes } of plans) this.#shares.give(queue.accountId, queue, jobs, bytes);
    for (const accountId of accountsOf(plans.map(({ queue }) => queue))) {
      const others = (this.#claims.get(accountId) ?? 1) - 1;
      if (others === 0) this.#claims.delete(accountId);
      else this.#claims.set(accountId, others);
      if (durationMs <= SLOW_MS) this.#slow.delete(accountId);
      else if (this.#slow.size < MAX_SLOW) this.#slow.add(accountId);
    }
  }

  /**
   * Reserves room for jobs that are claimed without a plan.
   * @returns false, and reserves nothing, if not all have room
   */
  reserve(queue: Queue, jobs: number, bytes: number): boolean {
    const room = this.#shares.ofQueue(queue.accountId, queue);
    if (room === null || room.slots < jobs || room.bytes < bytes) return false;
    this.#shares.take(queue.accountId, queue, jobs, bytes);
    return true;
  }

  /** Gives back what `reserve` has reserved. */
  giveBack(queue: Queue, jobs: number, bytes: number): void {
    this.#shares.give(queue.accountId, queue, jobs, bytes);
  }

  /** A delivery begins. */
  begin(queue: SharingQueue, bytes: number): void {
    this.#shares.take(queue.accountId, queue, 1, bytes);
  }

  /** A delivery has ended. */
  end(queue: SharingQueue, bytes: number): void {
    this.#shares.give(queue.accountId, queue, 1, bytes);
  }

  /** Accounts share a claim. An account with slow claims gets a claim of its own. */
  #take(isTurn: (accountId: string) => boolean): Queue[] {
    let first: string | null = null;
    const takesPart = (accountId: string) => {
      if (!isTurn(accountId)) return false;
      const isApart = first !== accountId && (this.#slow.has(accountId) || this.#slow.has(first ?? ''));
      if (first !== null && isApart) return false;
      if ((this.#claims.get(accountId) ?? 0) >= Math.max(1, this.#maxClaims - 1)) return false;
      return this.#shares.ofAccount(accountId) !== null;
    };
    return this.#ready.take(MAX_QUEUES, takesPart, (queue) => {
      if (this.#reserve(queue, 1, 1) === null) return false;
      first ??= queue.accountId;
      return true;
    });
  }

  #reserve(queue: Queue, slots: number, bytes: number): Amount | null {
    const room = this.#shares.ofQueue(queue.accountId, queue);
    if (room === null) return null;
    const reserved = { slots: Math.min(slots, room.slots), bytes: Math.min(bytes, room.bytes) };
    this.#shares.take(queue.accountId, queue, reserved.slots, reserved.bytes);
    return reserved;
  }
}

function accountsOf(queues: readonly SharingQueue[]): Set<string> {
  return new Set(queues.map(({ accountId }) => accountId));
}
