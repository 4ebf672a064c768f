/** An estimate of the server's clock: server time = `offset` + monotonic time, within half of `roundTrip`. */
export interface Sample {
  offset: number;
  roundTrip: number;
  /** Monotonic time of the answer. */
  at: number;
}

/** Monotonic clocks drift by up to about 50 ms in ten minutes, so an older sample counts less. */
const DRIFT = 0.0001;

/** The better of the known sample and a new answer: the one whose error is smaller by now. */
export function estimateOffset(
  known: Sample | null,
  { now, sentAt, receivedAt }: { now: number; sentAt: number; receivedAt: number },
): Sample {
  const roundTrip = receivedAt - sentAt;
  const fresh = { offset: now - (sentAt + receivedAt) / 2, roundTrip, at: receivedAt };
  if (known === null) return fresh;
  const errorOfKnown = known.roundTrip / 2 + (receivedAt - known.at) * DRIFT;
  // Both cannot be right: the monotonic clock has stood still while the machine slept, or the server's was set.
  if (Math.abs(fresh.offset - known.offset) > errorOfKnown + roundTrip / 2) return fresh;
  return errorOfKnown < roundTrip / 2 ? known : fresh;
}

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
