import { check, type Verdict } from './checker/index.ts';
import type { Run } from './records.ts';
import { type Rig, type RigOptions, startRig } from './rig.ts';
import { type Summary, summarise } from './summary.ts';

export interface Outcome {
  summary: Summary;
  run: Run;
  verdict: Verdict;
  lastWords: string[];
}

export interface Scenario extends RigOptions {
  name: string;
  perSecond: number;
  /** Calls of clients that may be open; those of the load by default. */
  mostOpen?: number | undefined;
  /** How long work may take to end after the faults; that of the rig by default. */
  drainMs?: number | undefined;
  /** The faults, under load. If this throws, the run until then is checked all the same. */
  faults: (rig: Rig) => Promise<unknown>;
  /** Called again and again while the faults last. */
  onProgress?: (rig: Rig, seconds: number) => void;
}

const PROGRESS_MS = 15_000;

/**
 * Scenarios that run side by side start one after the other: the start of a dozen services would starve those under
 * load.
 */
let started: Promise<unknown> = Promise.resolve();

function startInTurn(options: RigOptions): Promise<Rig> {
  const rig = started.then(() => startRig(options));
  started = rig.catch(() => undefined);
  return rig;
}

/** One run: load, then faults under load, then no load, then the checks. */
export async function play(scenario: Scenario): Promise<Outcome> {
  const { name, perSecond, mostOpen, drainMs, faults, onProgress, ...options } = scenario;
  const rig = await startInTurn({ revoke: true, ...options });
  const startedAt = Date.now();
  const progress = setInterval(() => onProgress?.(rig, (Date.now() - startedAt) / 1000), PROGRESS_MS);
  try {
    rig.load.start(perSecond, mostOpen);
    const failure = await faults(rig).then(
      () => null,
      (error: unknown) => String(error),
    );
    clearInterval(progress);
    const healedAt = Date.now();
    const run = await rig.drain(drainMs);
    const verdict = check(run);
    const summary = summarise({ name, seed: options.seed, startedAt, healedAt, failure }, run, verdict);
    return { summary, run, verdict, lastWords: rig.lastWords };
  } finally {
    clearInterval(progress);
    await rig.close();
  }
}
