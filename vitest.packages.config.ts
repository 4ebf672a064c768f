import { defineConfig } from 'vitest/config';

/** `npm run test:packages`: the packages, installed from the registry into fresh projects, against a real service. */
export default defineConfig({
  test: {
    include: ['test/packages/**/*.packages.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 30_000,
    reporters: ['verbose'],
  },
});
