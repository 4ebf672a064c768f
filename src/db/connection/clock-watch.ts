import { databaseTime } from './clock.ts';
import type { Database } from './database.ts';

/** A different clock than before is believed when it has been steady for so long. */
export const CLOCK_SETTLES_MS = 3_600_000;

interface ClockWatchOptions {
  /** How far the database's clock may be from where it is expected. */
  maxJumpMs: number;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Replaced by tests. Milliseconds. */
  monotonic?: () => number;
  wall?: () => number;
}

/** How far the database's clock is ahead of this process's clocks, in milliseconds. */
interface Offsets {
  monotonic: number;
  wall: number;
}

/**
 * Watches the database's clock, which decides every due time. Nothing that cannot be undone may follow from a clock
 * that jumps: no job is removed, no lifetime ends and no idempotency key becomes free while this process does not
 * trust it.
 *
 * The clock is trusted while it keeps its distance from this process's monotonic clock and from its wall clock. If
 * one of these distances changes by more than `maxJumpMs`, one of the clocks is wrong, and it is unknown which. The
 * clock is trusted again as soon as it is back, or when its new distance has been steady for an hour: then it was
 * set right, the process was suspended, or the process's own clock is wrong for good.
 */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #monotonic: () => number;
  readonly #wall: () => number;
  /** Where the clock is trusted to be: at the start as far from the monotonic clock as it is, and with the wall clock. */
  #expected: Offsets | null = null;
  /** Where it is instead, and since when (monotonic). */
  #elsewhere: { offsets: Offsets; since: number } | null = null;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#wall = options.wall ?? (() => Date.now());
  }

  /** Takes a time of the database that was read just now. */
  observe(databaseMs: number): void {
    const at = this.#monotonic();
    const seen = { monotonic: databaseMs - at, wall: databaseMs - this.#wall() };
    this.#expected ??= { monotonic: seen.monotonic, wall: 0 };
    if (this.#isNear(seen, this.#expected)) {
      if (this.#elsewhere !== null) this.#options.log.info({}, "the database's clock is trusted again");
      this.#elsewhere = null;
      this.#expected = seen;
      return;
    }
    if (this.#elsewhere === null || !this.#isNear(seen, this.#elsewhere.offsets)) {
      this.#elsewhere = { offsets: seen, since: at };
      const fields = {
        movedSeconds: Math.round((seen.monotonic - this.#expected.monotonic) / 1000),
        aheadOfThisProcessSeconds: Math.round(seen.wall / 1000),
      };
      this.#options.log.warn(
        fields,
        "the database's clock has moved or is not that of this process: no job is removed, no lifetime ends and no " +
          'idempotency key becomes free until it is back, or steady for an hour',
      );
    }
    if (at - this.#elsewhere.since < CLOCK_SETTLES_MS) return;
    this.#options.log.warn({}, "the database's clock has been steady for an hour, and is trusted again");
    this.#expected = seen;
    this.#elsewhere = null;
  }

  /** The database time now, by the monotonic clock since it was last read; null while it is not trusted. */
  now(): number | null {
    if (this.#expected === null || this.#elsewhere !== null) return null;
    return this.#expected.monotonic + this.#monotonic();
  }

  /** Whether a time that the database gave just now is to be trusted. */
  trusts(databaseMs: number): boolean {
    const now = this.now();
    return now !== null && Math.abs(databaseMs - now) <= this.#options.maxJumpMs;
  }

  #isNear(one: Offsets, other: Offsets): boolean {
    const { maxJumpMs } = this.#options;
    return Math.abs(one.monotonic - other.monotonic) <= maxJumpMs && Math.abs(one.wall - other.wall) <= maxJumpMs;
  }
}

const watches = new WeakMap<Database, ClockWatch>();

/** From now on, statements of this database whose effect cannot be undone ask the watch. */
export function useClockWatch(db: Database, watch: ClockWatch): void {
  watches.set(db, watch);
}

/** Reads the database's clock for its watch. */
export async function lookAtClock(db: Database, watch: ClockWatch): Promise<void> {
  watch.observe(await databaseTime(db));
}

/** Whether nothing speaks against the database's clock; true without a watch. */
export function isClockTrusted(db: Database): boolean {
  const watch = watches.get(db);
  return watch === undefined || watch.now() !== null;
}

/** Whether a time that the database gave just now is to be trusted; true without a watch. */
export function isTimeTrusted(db: Database, databaseMs: number): boolean {
  return watches.get(db)?.trusts(databaseMs) ?? true;
}
