import { execFileSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { LongFirst } from './test/support/long-first.ts';
import { RunSummary } from './test/support/run-summary.ts';
import { type Kind, kindOf, testFiles } from './test/support/test-kinds.ts';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

type Options = NonNullable<Extract<TestProjectConfiguration, { test?: unknown }>['test']>;

/** Files of a process are run one after the other; modules that they share are loaded once. */
const SHARING: Options = { isolate: false, setupFiles: ['test/support/shared-process.ts'] };

/**
 * Files at once: two cores carry more than the one worker of the default, because tests wait for processes and a
 * database. A machine that does other work gets fewer: the service has time limits of its own, which tests do not
 * change.
 */
const WORKERS = (loadavg()[0] ?? 0) > 2 * availableParallelism() ? 2 : 3;
const group = (groupOrder: number) => ({ maxWorkers: WORKERS, sequence: { groupOrder } });

/**
 * Each project has workers and compiled modules of its own, so there are few: files that wait most of their time run
 * among those that compute. Groups run one after the other.
 */
const PROJECTS: Record<string, [kinds: readonly Kind[], options: Options]> = {
  shared: [['unit', 'database'], { ...SHARING, ...group(1) }],
  isolated: [['isolated'], group(1)],
  long: [['long'], { ...SHARING, ...group(2) }],
  'long-isolated': [['long-isolated'], group(2)],
};
/** `npm run test:one -- --mode unit`: needs neither a database nor a build. */
const UNIT: typeof PROJECTS = { unit: [['unit'], { ...SHARING, ...group(1) }] };

/** The imports of a file decide, which have to be read: once for all projects. */
const FILES = testFiles().map((file) => ({ file, kind: kindOf(file) }));

function projectOf(name: string, options: Options, kinds: readonly Kind[]): TestProjectConfiguration {
  const include = FILES.filter(({ kind }) => kinds.includes(kind)).map(({ file }) => file);
  return project({ name, include, ...options });
}

export function project(options: Options): TestProjectConfiguration {
  return {
    // As Node resolves it: Vite would take another build of it than the libraries do, and GraphQL objects
    // of two builds do not know one another.
    resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
    // They only end what hangs, and the wait that hangs is named: on a busy machine everything takes ten times as long.
    test: { testTimeout: 240_000, hookTimeout: 240_000, expect: { poll: { timeout: 60_000 } }, ...options },
  };
}

/**
 * Run by scripts/test.mjs: `npm test` without the projects whose names begin with `long`,
 * `npm run test:long` with these alone.
 */
export default defineConfig(({ mode }) => ({
  test: {
    teardownTimeout: 30_000,
    sequence: { sequencer: LongFirst },
    reporters: ['default', new RunSummary()],
    // One server for all projects.
    globalSetup: ['test/support/global-setup.ts'],
    projects: Object.entries(mode === 'unit' ? UNIT : PROJECTS).map(([name, [kinds, options]]) =>
      projectOf(name, options, kinds),
    ),
  },
}));
