import { setImmediate as othersAreServed } from 'node:timers/promises';

/** Characters of JSON that the process parses or scans in one turn of the event loop: about a millisecond. */
export const SLICE = 64 * 1024;

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves when the next slice of long work may run: after other pending work of the event loop, and one slice at a
 * time in the whole process, however many requests have such work.
 */
export function nextSlice(): Promise<void> {
  const mine = last.then(() => othersAreServed());
  last = mine;
  return mine;
}

/** Calls `work` with each item, in slices of at most about `SLICE` by the items' sizes. */
export async function inSlices<Item extends { size: number }>(
  items: readonly Item[],
  work: (item: Item) => void,
): Promise<void> {
  let room = 0;
  for (const item of items) {
    if (room <= 0) {
      await nextSlice();
      room = SLICE;
    }
    work(item);
    room -= item.size;
  }
}
