import { beforeEach, describe, expect, it } from 'vitest';
import { CLOCK_SETTLES_MS, ClockWatch } from '../../src/db/connection/clock-watch.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 10, 21, 12);

/** Real time, and how far each clock is from it. */
let passed = 0;
let database = 0;
let wall = 0;
let suspended = 0;
let said: string[] = [];

function createWatch(): ClockWatch {
  const say = (_fields: object, message: string) => said.push(message);
  return new ClockWatch({
    maxJumpMs: 5 * MINUTE,
    log: { info: say, warn: say },
    monotonic: () => passed - suspended,
    wall: () => START + passed + wall,
  });
}

function databaseNow(): number {
  return START + passed + database;
}

/** Time passes, and the watch checks the clock every ten seconds. */
function pass(watch: ClockWatch, ms: number): void {
  const end = passed + ms;
  while (passed < end) {
    passed = Math.min(end, passed + 10_000);
    watch.observe(databaseNow());
  }
}

beforeEach(() => {
  [passed, database, wall, suspended] = [0, 0, 0, 0];
  said = [];
});

describe('the clock of the database', () => {
  it('is not trusted before it was read, and then goes by the monotonic clock', () => {
    const watch = createWatch();
    expect(watch.now()).toBeNull();
    watch.observe(databaseNow());
    expect(watch.now()).toBe(START);
    passed += 1500;
    expect(watch.now()).toBe(START + 1500);
    expect(said).toEqual([]);
  });

  it('is this far ahead of the wall clock, trusted or not, unless it was not read for a minute', () => {
    const watch = createWatch();
    expect(watch.offsetSeconds()).toBeNull();
    pass(watch, MINUTE);
    wall = -2 * HOUR;
    pass(watch, MINUTE);
    expect([watch.now(), watch.offsetSeconds()]).toEqual([null, 7200]);
    passed += MINUTE + 1;
    expect(watch.offsetSeconds()).toBeNull();
  });

  it.each([100 * HOUR, -HOUR, HOUR, -6 * MINUTE])('is not trusted after a jump of %i ms, until it is back', (jump) => {
    const watch = createWatch();
    pass(watch, MINUTE);
    database += jump;
    // Before the first check, a time that was just read is compared with this process's clock alone.
    expect(watch.trusts(databaseNow())).toBe(false);
    pass(watch, 10 * MINUTE);
    expect(watch.now()).toBeNull();
    expect(said).toEqual([expect.stringContaining('has moved')]);
    database -= jump;
    pass(watch, 10_000);
    expect(watch.now()).toBe(databaseNow());
    expect(said).toHaveLength(2);
  });

  it('may be corrected by minutes, and run faster or slower', () => {
    const watch = createWatch();
    for (let step = 0; step < 20; step += 1) {
      pass(watch, MINUTE);
      database += 4 * MINUTE;
      wall += 4 * MINUTE;
      expect(watch.trusts(databaseNow())).toBe(true);
    }
    pass(watch, MINUTE);
    expect(watch.now()).toBe(databaseNow());
    expect(said).toEqual([]);
  });

  it('is trusted with its new time when it has been steady for an hour', () => {
    const watch = createWatch();
    pass(watch, MINUTE);
    database += 100 * HOUR;
    pass(watch, 30 * MINUTE);
    // Each further jump starts the time again.
    database += HOUR;
    pass(watch, CLOCK_SETTLES_MS);
    expect(watch.now()).toBeNull();
    pass(watch, MINUTE);
    expect(watch.now()).toBe(databaseNow());
  });

  it('is not trusted at the start when this process has another, until it has been steady for an hour', () => {
    wall = -2 * HOUR;
    const watch = createWatch();
    pass(watch, CLOCK_SETTLES_MS);
    expect(watch.now()).toBeNull();
    pass(watch, MINUTE);
    expect(watch.now()).toBe(databaseNow());
  });

  it('seems to jump when this process was suspended', () => {
    const watch = createWatch();
    pass(watch, MINUTE);
    passed += HOUR;
    suspended += HOUR;
    pass(watch, MINUTE);
    expect(watch.now()).toBeNull();
    pass(watch, CLOCK_SETTLES_MS);
    expect(watch.now()).toBe(databaseNow());
  });
});
