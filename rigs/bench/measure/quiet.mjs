import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { timesOfMachine } from './processes.mjs';

const LOOK_MS = 1000;
/** Share of one CPU that other programs may use. */
const OTHERS = 0.1;
/** Share of the machine that its host may give to other machines. */
const STOLEN = 0.02;

export function isQuiet({ others, stolen }) {
  return others <= OTHERS && stolen <= STOLEN;
}

/** Resolves with true when nothing else has run for a moment, or with false after so many seconds. */
export async function untilQuiet(seconds) {
  const giveUpAt = performance.now() + seconds * 1000;
  while (performance.now() < giveUpAt) {
    const [at, before] = [performance.now(), timesOfMachine()];
    await pause(LOOK_MS);
    const [passed, after] = [(performance.now() - at) * 1000, timesOfMachine()];
    const others = (after.busy - before.busy) / passed;
    const stolen = (after.stolen - before.stolen) / passed / availableParallelism();
    if (isQuiet({ others, stolen })) return true;
  }
  return false;
}
