import { expect } from 'vitest';
import type { Rig } from './rig.ts';
import { play, type Scenario } from './scenario.ts';

const SEED = 20_261_121;

/**
 * Promises of the kind "within so many seconds", and those that compare when the receiver, which is in this process,
 * saw a request with when its job ended. A machine that is too slow for the load breaks them.
 */
const ABOUT_TIME = new Set('I-10 I-11 I-13 I-18 I-35 I-37 I-40 I-41 I-45 I-48 I-49 I-50'.split(' '));

/** Fails unless nothing was lost and no invariant broken by these faults, in a small installation under load. */
export async function expectSurvival(name: string, faults: (rig: Rig) => Promise<unknown>): Promise<void> {
  await survive({ name, faults, perSecond: 40 }, { least: 200, notJudged: new Set() });
}

/**
 * Judges nothing that depends on time, so any machine will do: a quarter of the load, with answers that may take
 * longer, so that a slow one does not do everything several times.
 */
export async function expectSurvivalAnywhere(name: string, faults: (rig: Rig) => Promise<unknown>): Promise<void> {
  const load = { perSecond: 10, mostOpen: 40, webhookTimeoutMs: 3000, drainMs: 240_000 };
  await survive({ name, faults, ...load }, { least: 100, notJudged: ABOUT_TIME });
}

/** @param least jobs that have to be delivered for the run to count */
async function survive(
  scenario: Omit<Scenario, 'seed' | 'apis' | 'workers'>,
  { least, notJudged }: { least: number; notJudged: ReadonlySet<string> },
): Promise<void> {
  const { summary, verdict, lastWords } = await play({ seed: SEED, apis: 2, workers: 3, ...scenario });
  const violations = verdict.violations.filter(({ id }) => !notJudged.has(id));
  expect({ violations, lastWords }).toEqual({ violations: [], lastWords: [] });
  expect(summary).toMatchObject({ failure: null, lost: 0 });
  expect(summary.delivered).toBeGreaterThan(least);
}
