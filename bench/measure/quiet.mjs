import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuOfMachine } from './processes.mjs';

const LOOK_MS = 1000;
/** Share of the machine that may be in use. */
const QUIET = 0.1;

/** Resolves when the machine has done next to nothing for a moment, or after so many seconds. */
export async function untilQuiet(seconds) {
  const giveUpAt = performance.now() + seconds * 1000;
  while (performance.now() < giveUpAt) {
    const [at, cpu] = [performance.now(), cpuOfMachine()];
    await pause(LOOK_MS);
    const share = (cpuOfMachine() - cpu) / 1000 / (performance.now() - at) / availableParallelism();
    if (share < QUIET) return;
  }
}
