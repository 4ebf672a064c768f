import { ReadyList, type ReadyQueue } from './ready-list.ts';
import { type Amount, Shares } from './shares.ts';

/** What a claim may take of a queue: one with a long backlog must not keep the others from their turn. */
const MAX_PER_QUEUE = 100;
/** What a claim may take of all its queues, so that one that takes long leaves capacity to the others. */
const MAX_PER_CLAIM = 320;
/** Claims of an account wait for each other at its usage, so one for many queues is better than many. */
const MAX_QUEUES = 16;
/** Payloads of a claim; one of each queue may exceed it. */
const MAX_BYTES_PER_CLAIM = 4 * 1024 * 1024;
/** Payloads under way in a process: claims leave a part of it free for whoever has fewer (`Shares`). */
const MAX_PAYLOAD_BYTES = 32 * 1024 * 1024;
/** A claim that takes longer is shared with no other account the next time. */
const SLOW_MS = 500;
/** Accounts that are known for slow claims. */
const MAX_SLOW = 1000;

/** A queue with what it has under way, reservations for claims included. */
export interface SharingQueue extends ReadyQueue, Amount {}

/** What a claim may take of a queue; reserved until it has answered. */
export interface Plan<Queue extends SharingQueue> {
  queue: Queue;
  jobs: number;
  bytes: number;
}

/** Decides which queues are claimed of next, and how much of each. */
export class ClaimPlanner<Queue extends SharingQueue> {
  readonly #shares: Shares;
  readonly #ready = new ReadyList<Queue>();
  readonly #maxClaims: number;
  /** Claims under way, by account. */
  readonly #claims = new Map<string, number>();
  readonly #slow = new Set<string>();

  /** @param maxClaims claims under way at once; one account gets all but one of them */
  constructor(capacity: number, maxClaims: number) {
    this.#shares = new Shares({ slots: capacity, bytes: MAX_PAYLOAD_BYTES });
    this.#maxClaims = maxClaims;
  }

  get hasReady(): boolean {
    return this.#ready.size > 0;
  }

  get hasFreeSlots(): boolean {
    return this.#shares.freeSlots > 0;
  }

  /** Whether a job of a queue of the account, which has so much under way, could be claimed at once. */
  hasRoom(accountId: string, queue: Amount): boolean {
    return this.#shares.ofQueue(accountId, queue) !== null;
  }

  add(queue: Queue): void {
    this.#ready.add(queue);
  }

  clear(): void {
    this.#ready.clear();
  }

  /** The next claim, by queue; empty when nobody who waits may have more. */
  next(): Plan<Queue>[] {
    // Who has much gets what is left by those who have little.
    let taken = this.#take((accountId) => this.#shares.isBelowAverage(accountId));
    if (taken.length === 0) taken = this.#take(() => true);
    if (taken.length === 0) return [];
    for (const accountId of accountsOf(taken)) this.#claims.set(accountId, (this.#claims.get(accountId) ?? 0) + 1);
    // One job of each is reserved; now that it is known how many queues share the claim, the rest.
    const jobs = Math.min(MAX_PER_QUEUE, Math.floor(MAX_PER_CLAIM / taken.length)) - 1;
    const bytes = Math.floor(MAX_BYTES_PER_CLAIM / taken.length) - 1;
    return taken.map((queue) => {
      const more = this.#reserve(queue, jobs, bytes);
      return { queue, jobs: 1 + (more?.slots ?? 0), bytes: 1 + (more?.bytes ?? 0) };
    });
  }

  /** Gives back what was reserved for a claim that has been answered, or has failed. */
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

  /** A delivery begins. */
  begin(queue: SharingQueue, bytes: number): void {
    this.#shares.take(queue.accountId, queue, 1, bytes);
  }

  /** A delivery has ended. */
  end(queue: SharingQueue, bytes: number): void {
    this.#shares.give(queue.accountId, queue, 1, bytes);
  }

  /** All accounts share a claim but those whose claims are slow: such an account has one to itself. */
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
