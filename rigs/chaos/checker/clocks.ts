import type { FaultRecord, Run } from '../records.ts';

/** Events within this time of a shift may be before or after it. */
const NEAR_MS = 100;

/**
 * A run with all times of one clock: the machine's, which all processes share, or the database's, which faults move.
 */
export function byMachineClock(run: Run): Run {
  const shifts = shiftsOf(run);
  if (shifts.length === 0) return run;
  const toMachine = (at: number) => {
    const moved = shifts.find(({ from, to, ms }) => at - ms >= from - NEAR_MS && at - ms <= to + NEAR_MS);
    return moved === undefined ? at : at - moved.ms;
  };
  return {
    ...run,
    history: run.history.map((entry) => ({ ...entry, at: toMachine(entry.at) })),
    changes: run.changes.map((change) => ({
      ...change,
      claimedAt: change.claimedAt === null ? null : toMachine(change.claimedAt),
    })),
  };
}

export function byDatabaseClock(run: Run): Run {
  const shifts = shiftsOf(run);
  if (shifts.length === 0) return run;
  const toDatabase = (at: number) => at + (shifts.find(({ from, to }) => at >= from && at <= to)?.ms ?? 0);
  const isNear = (at: number) =>
    shifts.some(({ from, to }) => Math.abs(at - from) < NEAR_MS || Math.abs(at - to) < 10 * NEAR_MS);
  return {
    ...run,
    deliveries: run.deliveries
      .filter(({ at }) => !isNear(at))
      .map((delivery) => ({ ...delivery, at: toDatabase(delivery.at) })),
    changes: run.changes.map((change) => ({ ...change, at: toDatabase(change.at) })),
  };
}

/** Whether the database's clock was moved by more than this between the two times. */
export function isMoved(run: Run, from: number, to: number, byMs: number): boolean {
  return shiftsOf(run).some((shift) => Math.abs(shift.ms) > byMs && shift.from <= to && shift.to >= from);
}

/**
 * Whether a change, by the database's clock, may be of a statement that read that clock just before it was moved: a
 * fault is noted before the clock is.
 */
export function isAtShift(run: Run, at: number): boolean {
  return shiftsOf(run).some(({ from, ms }) => at - ms >= from && at - ms < from + NEAR_MS);
}

interface Shift {
  from: number;
  to: number;
  ms: number;
}

function shiftsOf(run: Run): Shift[] {
  return run.faults.filter(isShift).map(({ at, healedAt, shiftMs }) => ({
    from: at,
    to: healedAt ?? Number.POSITIVE_INFINITY,
    ms: shiftMs,
  }));
}

function isShift(fault: FaultRecord): fault is FaultRecord & { shiftMs: number } {
  return fault.kind === 'clock' && fault.shiftMs !== undefined;
}
