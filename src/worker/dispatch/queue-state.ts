import type { WakeReason } from '../../db/delivery/wake-ups.ts';
import { DueBound } from './due-bound.ts';
import type { Amount } from './shares.ts';

/** The amount in flight of a queue that this process has no deliveries of. */
export const NOTHING: Readonly<Amount> = { slots: 0, bytes: 0 };

/** `slot`: a delivery of this process has ended, so its slot in the queue is free. */
export type LocalWakeReason = WakeReason | 'slot';

export interface QueueState {
  readonly id: string;
  /** Null until it has been looked up. */
  accountId: string | null;
  /** True while the queue may have work and waits, for its account to be looked up or in the ready list. */
  isReady: boolean;
  /** In flight or reserved: see `ClaimPlanner`. */
  slots: number;
  bytes: number;
  claiming: boolean;
  /** A wake that arrived during a claim: claim again after it. Null when there was none. */
  again: LocalWakeReason | null;
  /** Wakes the queue, or forgets it after polls in vain. */
  timer: NodeJS.Timeout | null;
  /** True if the last claim could not take more until, for example, a delivery or a pause ends. */
  isFull: boolean;
  readonly due: DueBound;
  /** Milliseconds until the next poll for a free slot. */
  pollMs: number;
  /** Number of running deliveries in this process. */
  inFlight: number;
}

/** A queue whose account is known. */
export interface OwnedQueue extends QueueState {
  accountId: string;
}

export function createQueueState(id: string, accountId: string | null, pollMs: number): QueueState {
  return {
    id,
    accountId,
    slots: 0,
    bytes: 0,
    inFlight: 0,
    isReady: false,
    claiming: false,
    again: null,
    timer: null,
    isFull: false,
    pollMs,
    due: new DueBound(),
  };
}

export function isOwned(queue: QueueState): queue is OwnedQueue {
  return queue.accountId !== null;
}
