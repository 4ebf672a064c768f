import { expect } from 'vitest';
import type { Rig, RigOptions } from './rig.ts';
import { play } from './scenario.ts';

const SEED = 20_261_121;

/**
 * Promises of the kind "within so many seconds", and those that compare when the receiver, which is in this process, saw a request
 * with when its job ended. A machine that is too slow for the load breaks them.
 */
const ABOUT_TIME = new Set('I-10 I-11 I-13 I-18 I-35 I-37 I-40 I-41 I-45 I-48 I-49 I-50'.split(' '));
const USUAL_LOAD = { perSecond: 40 };
/** A quarter of that, with answers that may take longer, so that a slow machine does not do everything several times. */
const SMALL_LOAD = { perSecond: 10, webhookTimeoutMs: 3000 };

/** Fails unless nothing was lost and no invariant broken by these faults, in a small installation under load. */
export async function expectSurvival(name: string, faults: (rig: Rig) => Promise<unknown>): Promise<void> {
  await survive(name, faults, USUAL_LOAD, new Set());
}

/** Judges nothing that depends on time, so any machine will do. */
export async function expectSurvivalAnywhere(name: string, faults: (rig: Rig) => Promise<unknown>): Promise<void> {
  await survive(name, faults, SMALL_LOAD, ABOUT_TIME);
}

async function survive(
  name: string,
  faults: (rig: Rig) => Promise<unknown>,
  load: typeof USUAL_LOAD & Pick<RigOptions, 'webhookTimeoutMs'>,
  notJudged: ReadonlySet<string>,
): Promise<void> {
  const { summary, verdict, lastWords } = await play({ name, seed: SEED, apis: 2, workers: 3, ...load, faults });
  const violations = verdict.violations.filter(({ id }) => !notJudged.has(id));
  expect({ violations, lastWords }).toEqual({ violations: [], lastWords: [] });
  expect(summary).toMatchObject({ failure: null, lost: 0 });
  expect(summary.delivered).toBeGreaterThan(100);
}
