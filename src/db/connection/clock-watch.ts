import { databaseTime } from './clock.ts';
import type { Database } from './database.ts';

/** A clock that has moved is trusted again when it has been steady for this long. */
export const CLOCK_SETTLES_MS = 3_600_000;
/** A distance between the clocks that was measured longer ago is not known any more. */
const OFFSET_KNOWN_MS = 60_000;

interface ClockWatchOptions {
  /** How far the database's clock may be from the expected time, in milliseconds. */
  maxJumpMs: number;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** Called when the clock, or its new distance, is trusted again. */
  onTrustedAgain?: () => void;
  /** Clocks in milliseconds, replaced by tests. */
  monotonic?: () => number;
  wall?: () => number;
}

/** How far the database's clock is ahead of this process's clocks, in milliseconds. */
interface Offsets {
  monotonic: number;
  wall: number;
}

/**
 * Watches the database's clock, which decides every due time. A clock that jumps must not have effects that cannot be
 * undone: while this process does not trust the clock, no job is removed, no lifetime ends and no idempotency key
 * becomes free.
 *
 * The clock is trusted while it keeps its distance from this process's monotonic clock and from its wall clock. If
 * one of these distances changes by more than `maxJumpMs`, one of the clocks is wrong, and it is unknown which. The
 * clock is trusted again as soon as it is back at its old distance, or when its new distance has been steady for an
 * hour. In the second case the clock was set right, the process was suspended, or the process's own clock stays wrong.
 */
export class ClockWatch {
  readonly #options: ClockWatchOptions;
  readonly #monotonic: () => number;
  readonly #wall: () => number;
  /** The trusted distances. At the start, the monotonic distance is as measured, and the wall distance is 0. */
  #expected: Offsets | null = null;
  /** As last measured, and when (monotonic). */
  #seen: { offsets: Offsets; at: number } | null = null;
  /** The present distances while they are not trusted, and since when (monotonic); null while the clock is trusted. */
  #elsewhere: { offsets: Offsets; since: number } | null = null;

  constructor(options: ClockWatchOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#wall = options.wall ?? (() => Date.now());
  }

  /** Compares a time that was just read from the database. */
  observe(databaseMs: number): void {
    const at = this.#monotonic();
    const seen = { monotonic: databaseMs - at, wall: databaseMs - this.#wall() };
    this.#seen = { offsets: seen, at };
    this.#expected ??= { monotonic: seen.monotonic, wall: 0 };
    if (this.#isNear(seen, this.#expected)) {
      const isBack = this.#elsewhere !== null;
      this.#elsewhere = null;
      this.#expected = seen;
      if (isBack) this.#trustAgain(() => this.#options.log.info({}, "the database's clock is trusted again"));
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
    this.#expected = seen;
    this.#elsewhere = null;
    this.#trustAgain(() =>
      this.#options.log.warn({}, "the database's clock has been steady for an hour, and is trusted again"),
    );
  }

  /** @returns the database time now, calculated with the monotonic clock; null while the clock is not trusted */
  now(): number | null {
    if (this.#expected === null || this.#elsewhere !== null) return null;
    return this.#expected.monotonic + this.#monotonic();
  }

  /**
   * @returns how far the database's clock is ahead of this process's wall clock, in seconds, whether it is trusted or
   *   not; null if the database's clock was not read in the last minute
   */
  offsetSeconds(): number | null {
    if (this.#seen === null || this.#monotonic() - this.#seen.at > OFFSET_KNOWN_MS) return null;
    return this.#seen.offsets.wall / 1000;
  }

  /** Whether a time that was just read from the database can be trusted. */
  trusts(databaseMs: number): boolean {
    const now = this.now();
    return now !== null && Math.abs(databaseMs - now) <= this.#options.maxJumpMs;
  }

  #trustAgain(say: () => void): void {
    say();
    this.#options.onTrustedAgain?.();
  }

  #isNear(one: Offsets, other: Offsets): boolean {
    const { maxJumpMs } = this.#options;
    return Math.abs(one.monotonic - other.monotonic) <= maxJumpMs && Math.abs(one.wall - other.wall) <= maxJumpMs;
  }
}

const watches = new WeakMap<Database, ClockWatch>();

/** Connects a watch to the database. Statements whose effect cannot be undone check it. */
export function useClockWatch(db: Database, watch: ClockWatch): void {
  watches.set(db, watch);
}

/** Reads the database's clock for its watch. */
export async function checkClock(db: Database, watch: ClockWatch): Promise<void> {
  watch.observe(await databaseTime(db));
}

/** Whether the database's clock is trusted; true without a watch. */
export function isClockTrusted(db: Database): boolean {
  const watch = watches.get(db);
  return watch === undefined || watch.now() !== null;
}

/** Whether a time that was just read from the database can be trusted; true without a watch. */
export function isTimeTrusted(db: Database, databaseMs: number): boolean {
  return watches.get(db)?.trusts(databaseMs) ?? true;
}
