import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { LONG, LONG_IN_NPM_TEST } from './long-tests.ts';

const SHOWN = 20;
/**
 * A file that takes longer on two quiet cores needs a reason in `long-tests.ts`.
 * A slow machine adds some files, so none fails by it.
 */
const SECONDS_WITHOUT_REASON = 15;

/**
 * Prints the slowest files at the end of a run of many, and writes each failure into the file that `TEST_FAILURES_FILE`
 * names: scripts/test.mjs prints them below everything else.
 */
export class RunSummary implements Reporter {
  readonly #command: string;

  /** @param command runs the file whose path is appended */
  constructor(command = 'npm run test:one --') {
    this.#command = command;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env.TEST_FAILURES_FILE;
    if (file !== undefined)
      for (const line of failuresOf(modules, unhandled, this.#command)) appendFileSync(file, `${line}\n`);
    if (modules.length > SHOWN) console.log(slowestFiles(modules));
  }
}

function slowestFiles(modules: readonly TestModule[]): string {
  const files = modules.map((file) => ({ path: file.relativeModuleId, seconds: secondsOf(file) }));
  files.sort((one, other) => other.seconds - one.seconds);
  const lines = files.slice(0, SHOWN).map(({ path, seconds }) => {
    const reason = [...LONG, ...LONG_IN_NPM_TEST].find(([begin]) => path.match(`^${begin}`))?.[1];
    const note = seconds < SECONDS_WITHOUT_REASON ? '' : `  (${reason ?? 'no reason in test/support/long-tests.ts'})`;
    return `${seconds.toFixed(1).padStart(7)} s  ${path}${note}`;
  });
  return ['', ' The slowest files:', ...lines, ''].join('\n');
}

/** Tests and hooks, without what was loaded for them. */
function secondsOf(file: TestModule): number {
  return file.diagnostic().duration / 1000;
}

/**
 * One line for each failed test, or for a file or a hook that failed outside of its tests,
 * with the command that runs it.
 */
function failuresOf(
  modules: readonly TestModule[],
  unhandled: readonly SerializedError[],
  commandOfFile: string,
): string[] {
  const lines = modules.flatMap((file) => {
    const command = `${commandOfFile} ${file.relativeModuleId}`;
    const tests = [...file.children.allTests('failed')].map(({ name }) => `${command} -t ${shellPattern(name)}`);
    const hasOwnErrors =
      file.errors().length > 0 || [...file.children.allSuites()].some((suite) => suite.errors().length > 0);
    return hasOwnErrors || (tests.length === 0 && file.state() === 'failed') ? [command, ...tests] : tests;
  });
  return [...lines, ...unhandled.map(({ message }) => `outside of any test: ${message.split('\n', 1)[0]}`)];
}

/** A pattern that matches the name and nothing else of it, quoted for a shell. */
function shellPattern(name: string): string {
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return `'${pattern.replaceAll("'", "'\\''")}'`;
}
