/** A moment on two clocks of this process. The monotonic clock stands still while a virtual machine is suspended. */
export interface Moment {
  /** Result of `performance.now()`. */
  readonly monotonic: number;
  /** Result of `Date.now()`. */
  readonly wall: number;
}

/** Normal corrections of a wall clock are smaller. A larger jump means a suspension, or that the clock was set. */
const JUMP_MS = 1000;

export function thisMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * Milliseconds since the moment. If the wall clock has jumped ahead of the monotonic clock, the wall clock decides. A
 * result that is too long is safe: the caller only has the lease lock confirmed again, or abandons a delivery.
 */
export function elapsedMs({ monotonic, wall }: Moment): number {
  const elapsed = performance.now() - monotonic;
  const onWall = Date.now() - wall;
  return onWall > elapsed + JUMP_MS ? onWall : elapsed;
}
