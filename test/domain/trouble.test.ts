import { expect, it } from 'vitest';
import { troubleOf } from '../../src/domain/trouble.ts';

const WELL = { paused: false, held: false, oldestDueMs: null, warnings: [] } as const;
const HOUR = 3_600_000;

it('puts what needs a hand first, and among equals the one that is the most behind', () => {
  const ordered = [
    { ...WELL, warnings: ['failing'], oldestDueMs: HOUR },
    { ...WELL, warnings: ['signature_rejected', 'backpressure'], paused: true },
    { ...WELL, oldestDueMs: 2 * HOUR },
    { ...WELL, oldestDueMs: HOUR },
    { ...WELL, warnings: ['slow_receiver'] },
    { ...WELL, held: true, oldestDueMs: HOUR },
    { ...WELL, warnings: ['backpressure'] },
    { ...WELL, paused: true, held: true, oldestDueMs: 100 * HOUR },
    { ...WELL, paused: true },
    { ...WELL, oldestDueMs: 1000 },
    WELL,
  ] as const;
  const troubles = ordered.map(troubleOf);
  expect(troubles.toSorted((one, other) => other - one)).toEqual(troubles);
  expect(new Set(troubles).size).toBe(troubles.length);
});

it('is a number that a cursor can hold', () => {
  const worst = troubleOf({ ...WELL, warnings: ['failing'], oldestDueMs: Number.MAX_SAFE_INTEGER });
  expect(Number.isSafeInteger(worst)).toBe(true);
});
