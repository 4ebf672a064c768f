import type { QueueState } from './queue-state.ts';

/**
 * If other processes use all slots of a queue, it is polled after this delay, which then doubles each time. The first
 * process that polls while a slot is free gets it. After the last poll, the reconciler finds the queue.
 */
export const FIRST_POLL_MS = 50;
const LAST_POLL_MS = 3200;
/**
 * A queue that was polled in vain is remembered for so long: if the reconciler finds it full again, one claim suffices.
 */
const REMEMBERED_MS = 60_000;

/** Sets the timer of a queue that has no free slot and no delivery in this process. */
export function pollForSlot(queue: QueueState, poll: () => void, forget: () => void): void {
  if (queue.pollMs > LAST_POLL_MS) {
    queue.timer = setTimeout(() => {
      queue.timer = null;
      queue.pollMs = FIRST_POLL_MS;
      forget();
    }, REMEMBERED_MS);
    return;
  }
  // Random, because processes that poll at the same moment find the same slot.
  queue.timer = setTimeout(poll, Math.ceil(queue.pollMs * (0.5 + Math.random())));
  queue.pollMs *= 2;
}

/**
 * Whether the end of a delivery or the next poll will claim for a new job of a queue without a free slot. If the queue
 * is only remembered, its polls begin again.
 */
export function isExpected(queue: QueueState): boolean {
  const isPolled = queue.timer !== null && queue.pollMs <= LAST_POLL_MS;
  if (queue.inFlight > 0 || isPolled) return true;
  queue.pollMs = FIRST_POLL_MS;
  return false;
}
