import { execFileSync } from 'node:child_process';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { sharingTests, testFiles } from './test/support/unit-tests.ts';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

type Options = NonNullable<Extract<TestProjectConfiguration, { test?: unknown }>['test']>;

function project(name: string, options: Options): TestProjectConfiguration {
  return {
    // As Node resolves it: Vite would take another build of it than the libraries do, and GraphQL objects
    // of two builds do not know one another.
    resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
    // Real processes and a real database on a busy machine; what hangs is named by the wait that hangs.
    test: { name, testTimeout: 60_000, hookTimeout: 30_000, ...options },
  };
}

const SHARING = new Set(sharingTests());

/** Files that share a process load what they import once, which is most of the time that they take. */
export function projects(files: readonly string[]): TestProjectConfiguration[] {
  const sharing = files.filter((file) => SHARING.has(file));
  const isolated = files.filter((file) => !SHARING.has(file));
  return [
    project('sharing', { include: sharing, isolate: false, setupFiles: ['test/support/shared-process.ts'] }),
    project('isolated', { include: isolated }),
  ];
}

export default defineConfig({
  test: {
    // Most tests wait for processes, timers and a database, so two cores carry more than the one worker of the default.
    maxWorkers: 3,
    teardownTimeout: 30_000,
    // One server for both projects.
    globalSetup: ['test/support/global-setup.ts'],
    projects: projects(testFiles()),
  },
});
