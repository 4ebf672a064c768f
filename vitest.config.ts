import { execFileSync } from 'node:child_process';
import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { plainTests } from './test/support/unit-tests.ts';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

type Options = NonNullable<Extract<TestProjectConfiguration, { test?: unknown }>['test']>;

export function project(name: string, options: Options): TestProjectConfiguration {
  return {
    // As Node resolves it: Vite would take another build of it than the libraries do, and GraphQL objects
    // of two builds do not know one another.
    resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
    // Real processes and a real database on a busy machine; what hangs is named by the wait that hangs.
    test: { name, testTimeout: 60_000, hookTimeout: 30_000, ...options },
  };
}

const PLAIN = plainTests();

/** Files that share a process load what they import once, which is most of the time that they take. */
export const plain = project('plain', { include: PLAIN, isolate: false });

export default defineConfig({
  test: {
    // Most tests wait for processes, timers and a database, so two cores carry more than the one worker of the default.
    maxWorkers: 3,
    teardownTimeout: 30_000,
    projects: [
      plain,
      project('isolated', {
        include: ['test/**/*.test.ts'],
        exclude: PLAIN,
        globalSetup: ['test/support/global-setup.ts'],
      }),
    ],
  },
});
