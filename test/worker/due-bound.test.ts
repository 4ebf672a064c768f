import { describe, expect, it } from 'vitest';
import type { Claim, ClaimedJob } from '../../src/db/delivery/claim.ts';
import { DueBound, WHOLE_LOOK_MS } from '../../src/worker/dispatch/queue-state.ts';

const NOTHING_LEFT = Number.POSITIVE_INFINITY;

/** A claim of jobs that were due at these times. */
function claimOf(due: number[], waitMs: number | null = NOTHING_LEFT): Claim {
  const jobs = due.map((at) => ({ scheduledFor: new Date(at) }) as ClaimedJob);
  return { now: 0, queueDeleted: false, waitMs, jobs };
}

/** Has claimed jobs that were due at 50 s, in a claim that looked at all jobs at 0 on the clock of the process. */
function boundAfterWholeLook(): DueBound {
  const bound = new DueBound();
  expect(bound.at(0)).toBe(null);
  bound.claimed(null, 0, claimOf([40_000, 50_000]));
  return bound;
}

describe('the bound of due times in claims of a queue', () => {
  it('is a second before the last job that was claimed, and moves with each claim', () => {
    const bound = boundAfterWholeLook();
    expect(bound.at(10)).toBe(49_000);
    bound.claimed(49_000, 10, claimOf([51_000]));
    expect(bound.at(20)).toBe(50_000);
  });

  it('is left out a second after the last look at all jobs', () => {
    const bound = boundAfterWholeLook();
    bound.claimed(49_000, 900, claimOf([51_000]));
    expect(bound.at(WHOLE_LOOK_MS - 1)).toBe(50_000);
    expect(bound.at(WHOLE_LOOK_MS)).toBe(null);
  });

  it('lets nothing wait longer than a second for a look at all jobs', () => {
    const bound = boundAfterWholeLook();
    expect(bound.claimed(49_000, 10, claimOf([51_000]))).toBe(WHOLE_LOOK_MS);
    expect(bound.claimed(49_000, 10, claimOf([51_000], 60_000))).toBe(WHOLE_LOOK_MS);
    expect(bound.claimed(49_000, 10, claimOf([51_000], 20))).toBe(20);
    expect(bound.claimed(49_000, 10, claimOf([51_000], null))).toBe(null);
    expect(bound.claimed(null, 10, claimOf([51_000], 60_000))).toBe(60_000);
  });

  it('counts a claim without a job as a look at all of them', () => {
    const bound = boundAfterWholeLook();
    expect(bound.claimed(49_000, 900, claimOf([]))).toBe(NOTHING_LEFT);
    bound.claimed(null, 950, claimOf([60_000]));
    expect(bound.at(1800)).toBe(59_000);
  });

  it('is left out while more jobs are due', () => {
    const bound = boundAfterWholeLook();
    bound.claimed(49_000, 10, claimOf([51_000], 0));
    expect(bound.at(20)).toBe(null);
  });
});
