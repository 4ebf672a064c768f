import { expect, it } from 'vitest';
import { isAtShift } from '../../rigs/chaos/checker/clocks.ts';
import type { Run } from '../../rigs/chaos/records.ts';

it('a change within a tenth of a second after a clock fault may have read the former time', () => {
  const hour = 3_600_000;
  const fault = { kind: 'clock', at: 1000, healedAt: 61_000, shiftMs: hour };
  const run = { faults: [fault] } as unknown as Run;
  const at = [999, 1000, 1099, 1100].map((moment) => isAtShift(run, moment + hour));
  expect(at).toEqual([false, true, true, false]);
});
