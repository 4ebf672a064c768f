/** A moment of this process on two clocks: the monotonic one stands still while a virtual machine is suspended. */
export interface Moment {
  /** Of `performance.now()`. */
  readonly monotonic: number;
  /** Of `Date.now()`. */
  readonly wall: number;
}

/** Wall clocks are corrected by less than this all the time; more is a suspension, or a clock that was set. */
const JUMP_MS = 1000;

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * Milliseconds since then. When the wall clock has jumped ahead of the monotonic one, its word counts: too long is
 * safe, because what depends on it then only asks again.
 */
export function elapsedMs({ monotonic, wall }: Moment): number {
  const elapsed = performance.now() - monotonic;
  const onWall = Date.now() - wall;
  return onWall > elapsed + JUMP_MS ? onWall : elapsed;
}
