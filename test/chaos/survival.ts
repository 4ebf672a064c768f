import { expect } from 'vitest';
import type { Rig } from './rig.ts';
import { play } from './scenario.ts';

const SEED = 20_261_121;

/** Fails unless nothing was lost and no invariant broken by these faults, in a small installation under load. */
export async function expectSurvival(name: string, faults: (rig: Rig) => Promise<unknown>): Promise<void> {
  const { summary, lastWords } = await play({ name, seed: SEED, apis: 2, workers: 3, perSecond: 40, faults });
  expect({ violations: summary.examples, lastWords }).toEqual({ violations: [], lastWords: [] });
  expect(summary).toMatchObject({ failure: null, lost: 0 });
  expect(summary.delivered).toBeGreaterThan(200);
}
