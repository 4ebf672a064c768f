import { setImmediate as othersAreServed } from 'node:timers/promises';

/** Characters of JSON that are parsed, or looked through again, before the process serves others: about a millisecond. */
export const SLICE = 64 * 1024;

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves when the next slice of long work may run: after others were served, and one slice at a time in the whole
 * process, however many requests have such work.
 */
export function nextSlice(): Promise<void> {
  const mine = last.then(() => othersAreServed());
  last = mine;
  return mine;
}

/** Does something with each item, in slices by their size. */
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
