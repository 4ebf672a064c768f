import { execFileSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

/** `npm run plans`: every statement of `src/db` against a million jobs (PLANS_JOBS), on a server of its own. */
export default defineConfig({
  test: {
    include: ['test/plans/**/*.plans.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 900_000,
    reporters: ['verbose'],
  },
});
