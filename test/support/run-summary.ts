import type { Reporter, TestModule } from 'vitest/node';

const SHOWN = 20;

/** Prints the files that took longest, at the end of a run of many. */
export class Slowest implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return;
    const files = modules.map((file) => ({ path: file.relativeModuleId, seconds: secondsOf(file) }));
    files.sort((one, other) => other.seconds - one.seconds);
    const lines = files.slice(0, SHOWN).map(({ path, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${path}`);
    console.log(['', ' The slowest files:', ...lines, ''].join('\n'));
  }
}

/** Tests and hooks, without what was loaded for them. */
function secondsOf(file: TestModule): number {
  return file.diagnostic().duration / 1000;
}
