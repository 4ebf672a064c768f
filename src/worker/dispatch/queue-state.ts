import type { WakeReason } from '../../db/delivery/wake-ups.ts';
import type { Amount } from './shares.ts';

/** A queue of which this process has nothing under way. */
export const NOTHING: Readonly<Amount> = { slots: 0, bytes: 0 };

/** Why a queue may have work: a job was published, a delivery of ours has freed its slot, or anything else. */
export type News = WakeReason | 'slot';

export interface QueueState {
  readonly id: string;
  /** Null until it was looked up. */
  accountId: string | null;
  /** Has work and waits: for its account to be looked up, or in the ready list. */
  isReady: boolean;
  /** Under way or reserved: see `ClaimPlanner`. */
  slots: number;
  bytes: number;
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

/** A queue whose account is known. */
export interface OwnedQueue extends QueueState {
  accountId: string;
}

export function createQueueState(id: string, accountId: string | null, lookMs: number): QueueState {
  return {
    ...{ id, accountId, ...NOTHING, inFlight: 0 },
    ...{ isReady: false, claiming: false, again: null, timer: null, isFull: false, lookMs },
  };
}

export function isOwned(queue: QueueState): queue is OwnedQueue {
  return queue.accountId !== null;
}
