import { estimateOffset, type Sample } from './server-clock.ts';

/**
 * Time by the server's clock, which decides when jobs are due. The browser's own clock may be minutes off, so the page
 * takes only spans from it, of the monotonic clock.
 */
let best: Sample | null = null;
let onFirst: () => void = () => undefined;

/** Milliseconds since 1970 by the server; by this computer until the first answer. */
export function serverNow(): number {
  const monotonic = performance.now();
  return best === null ? Date.now() : best.offset + monotonic;
}

/** Takes `server { now }` of an answer, with the monotonic times at which the request was sent and answered. */
export function learnServerTime(now: string, sentAt: number, receivedAt: number): void {
  const isFirst = best === null;
  best = estimateOffset(best, { now: Date.parse(now), sentAt, receivedAt });
  if (isFirst) onFirst();
}

/** Calls `listener` once, when the server's clock is known: what was computed before may be minutes off. */
export function onceServerTimeIsKnown(listener: () => void): void {
  onFirst = listener;
}
