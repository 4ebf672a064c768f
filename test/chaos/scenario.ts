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
  /** The faults, under load. If this throws, the run until then is checked all the same. */
  faults: (rig: Rig) => Promise<unknown>;
  /** Called again and again while the faults last. */
  onProgress?: (rig: Rig, seconds: number) => void;
}

const PROGRESS_MS = 15_000;

/** Scenarios that run side by side start one after the other: the start of a dozen services would starve those under load. */
let started: Promise<unknown> = Promise.resolve();

function startInTurn(options: RigOptions): Promise<Rig> {
  const rig = started.then(() => startRig(options));
  started = rig.catch(() => undefined);
  return rig;
}

/** One run: load, then faults under load, then no load, then the checks. */
export async function play({ name, perSecond, faults, onProgress, ...options }: Scenario): Promise<Outcome> {
  const rig = await startInTurn({ revoke: true, ...options });
  const startedAt = Date.now();
  const progress = setInterval(() => onProgress?.(rig, (Date.now() - startedAt) / 1000), PROGRESS_MS);
  try {
    rig.load.start(perSecond);
    const failure = await faults(rig).then(
      () => null,
      (error: unknown) => String(error),
    );
    clearInterval(progress);
    const healedAt = Date.now();
    const run = await rig.drain();
    const verdict = check(run);
    const summary = summarise({ name, seed: options.seed, startedAt, healedAt, failure }, run, verdict);
    return { summary, run, verdict, lastWords: rig.lastWords };
  } finally {
    clearInterval(progress);
    await rig.close();
  }
}
