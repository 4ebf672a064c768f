import { execFileSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

export default defineConfig({
  // As Node resolves it: Vite would take another build of it than the libraries do, and GraphQL objects
  // of two builds do not know one another.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // Most tests wait for processes, timers and a database, so two cores carry more than the one worker of the default.
    maxWorkers: 3,
    globalSetup: ['test/support/global-setup.ts'],
    // Real processes and a real database on a busy machine; what hangs is named by the wait that hangs.
    testTimeout: 60_000,
    hookTimeout: 30_000,
    teardownTimeout: 30_000,
  },
});
