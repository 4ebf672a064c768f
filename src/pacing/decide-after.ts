/** A timer that fires later than this fires in a process that was suspended or blocked. */
export const HELD_UP_MS = 250;

/**
 * Calls `decide` when the time is over. After a suspension or a blocked event loop, timers run before the sockets are
 * read, and what would have prevented the decision may lie there: so after a late timer `decide` waits once more, until
 * it has been read (I-49).
 * @returns a function that cancels it
 */
export function decideAfter(ms: number, decide: () => void): () => void {
  const dueAt = performance.now() + ms;
  let timer = setTimeout(() => {
    if (performance.now() - dueAt > HELD_UP_MS) timer = setTimeout(decide, HELD_UP_MS);
    else decide();
  }, ms);
  return () => clearTimeout(timer);
}
