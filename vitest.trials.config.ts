import { defineConfig } from 'vitest/config';

/** `npm run trials`: the service as an operator runs it, under load. Writes jobferry-operations.json into the folder for temporary files. */
export default defineConfig({
  test: {
    include: ['test/trials/**/*.trial.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    reporters: ['verbose'],
  },
});
