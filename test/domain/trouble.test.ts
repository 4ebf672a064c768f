import { expect, it } from 'vitest';
import {
  CONDITIONS,
  conditionOf,
  NO_FLOW,
  type QueueNow,
} from '../../src/dashboard/features/queues/model/queue-condition.ts';
import { troubleOf } from '../../src/domain/trouble.ts';

const WELL = { paused: false, held: false, broken: false, oldestDueMs: null, warnings: [], cost: 0 } as const;
const HOUR = 3_600_000;

it('puts what needs a hand first, and among equals the one that costs most, then the one that is the most behind', () => {
  const ordered = [
    { ...WELL, warnings: ['failing'], cost: 5060 },
    { ...WELL, warnings: ['failing'], cost: 20, oldestDueMs: 2 * HOUR },
    { ...WELL, warnings: ['failing'], oldestDueMs: 2 * HOUR },
    { ...WELL, held: true, broken: true, oldestDueMs: HOUR },
    { ...WELL, warnings: ['signature_rejected', 'backpressure'], held: true },
    { ...WELL, oldestDueMs: 2 * HOUR },
    { ...WELL, oldestDueMs: HOUR },
    { ...WELL, warnings: ['slow_receiver'] },
    { ...WELL, held: true, oldestDueMs: HOUR, warnings: ['failing'] },
    { ...WELL, warnings: ['backpressure'] },
    { ...WELL, paused: true, held: true, oldestDueMs: 100 * HOUR },
    { ...WELL, paused: true, warnings: ['signature_rejected'] },
    WELL,
  ] as const;
  const troubles = ordered.map(troubleOf);
  expect(troubles.toSorted((one, other) => other - one)).toEqual(troubles);
  expect(new Set(troubles).size).toBe(troubles.length);
  // Queues that need no hand are in the order of their age.
  expect([{ ...WELL, oldestDueMs: 1000 }, WELL].map(troubleOf)).toEqual([0, 0]);
});

it('is a number that a cursor can hold', () => {
  const worst = troubleOf({ ...WELL, warnings: ['failing'], cost: 1e15, oldestDueMs: 1e15 });
  expect(Number.isSafeInteger(worst)).toBe(true);
});

/** All combinations of what decides, as the dashboard sees them and as the server orders them. */
it('is the same order as that of the conditions that the dashboard shows', () => {
  const rankOfSignal = { bad: 4, warn: 3, hold: 2, idle: 1, ok: 0 } as Record<string, number>;
  const WARNINGS = ['signature_rejected', 'failing', 'slow_receiver', 'backpressure'] as const;
  const subsets = Array.from({ length: 16 }, (_, bits) => WARNINGS.filter((_w, n) => bits & (1 << n)));
  for (const paused of [false, true])
    for (const [held, broken] of [
      [false, false],
      [true, false],
      [true, true],
    ] as const)
      for (const oldestDueMs of [null, 1000, HOUR])
        for (const warnings of subsets) {
          const queue = {
            paused,
            hold: held
              ? { until: new Date(HOUR).toISOString(), reason: null, byBreaker: broken, askedBy: null, probe: null }
              : null,
            oldestDueSeconds: oldestDueMs === null ? null : oldestDueMs / 1000,
            health: { warnings: warnings.map((warning) => ({ warning: warning.toUpperCase() })) },
            depth: null,
          } as unknown as QueueNow;
          const condition = conditionOf(queue, NO_FLOW, { now: 0 } as Parameters<typeof conditionOf>[2]);
          // Idle is not trouble, although it has the signal of a pause.
          const rank = condition === 'idle' ? 0 : rankOfSignal[CONDITIONS[condition].signal];
          const severity = Math.floor(
            troubleOf({ paused, held, broken, oldestDueMs, warnings, cost: 9e15 }) / 10 ** 12,
          );
          const facts = [paused, held, broken, oldestDueMs, warnings];
          expect([...facts, severity]).toEqual([...facts, rank]);
        }
});
