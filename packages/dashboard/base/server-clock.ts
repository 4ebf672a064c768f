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
