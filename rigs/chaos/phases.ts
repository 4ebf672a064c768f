import { expect } from 'vitest';
import { type Evidence, writeEvidence } from './evidence.ts';
import { play, type Scenario } from './scenario.ts';
import type { Summary } from './summary.ts';

/** Part of an evidence run: one scenario, and how often each fault must have struck in it. */
export interface Phase extends Omit<Scenario, 'onProgress'> {
  least: Record<string, number>;
}

export const MINUTES = 60_000;
/** Share of the faults of processes that must have hit jobs in flight for a run to count. */
const HIT_SHARE = 0.8;

/** A machine that runs many services side by side may take seconds to bring a request to its receiver. */
const WEBHOOK_TIMEOUT_MS = 3000;

/** A number of the run that a variable changes: `CHAOS_` and the name. */
export function count(name: string, usual: number): number {
  return Number(process.env[`CHAOS_${name}`] ?? usual);
}

export const within = (ms: number) => Date.now() + ms;

/** Runs a phase, writes its evidence, and fails if there are losses or violations. */
export async function runPhase(evidence: Evidence, { least, ...phase }: Phase): Promise<Summary> {
  const { name } = phase;
  const others = () => evidence.unfinished.filter((unfinished) => unfinished.name !== name);
  const { summary, lastWords } = await play({
    webhookTimeoutMs: WEBHOOK_TIMEOUT_MS,
    ...phase,
    onProgress(rig, seconds) {
      const faults: Record<string, number> = {};
      for (const { kind } of rig.faults) faults[kind] = (faults[kind] ?? 0) + 1;
      const { length: published } = rig.load.publishes;
      const { length: deliveries } = rig.receiver.deliveries;
      const unfinished = { name, seconds: Math.round(seconds), published, deliveries, faults };
      evidence.unfinished = [...others(), unfinished];
      const struck = Object.entries(faults).map(([kind, n]) => `${kind} ${n}${kind in least ? `/${least[kind]}` : ''}`);
      console.log(`${name}, ${Math.round(seconds)} s: ${struck.join(', ')}; ${deliveries} deliveries`);
      void writeEvidence(evidence);
    },
  });
  evidence.unfinished = others();
  evidence.phases.push(summary);
  await writeEvidence(evidence);
  console.log(JSON.stringify(summary));
  expect({ violations: summary.examples, lastWords }).toEqual({ violations: [], lastWords: [] });
  expect(summary).toMatchObject({ failure: null, lost: 0 });
  for (const [kind, times] of Object.entries(least)) {
    expect(summary.faults[kind]?.count ?? 0, kind).toBeGreaterThanOrEqual(times);
  }
  for (const kind of ['kill-worker', 'kill-api', 'freeze-worker', 'suspend-worker', 'stall-worker']) {
    const struck = summary.faults[kind];
    if (struck === undefined || struck.count < 20) continue;
    expect(struck.hitWork / struck.count, `${kind} that hit work`).toBeGreaterThanOrEqual(HIT_SHARE);
  }
  return summary;
}
