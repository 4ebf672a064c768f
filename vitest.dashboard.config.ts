import { defineConfig } from 'vitest/config';

/** `npm run bench:dashboard`: what the dashboard takes and costs, in a real browser, with a million jobs (DASHBOARD_JOBS). */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.bars.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 900_000,
    teardownTimeout: 30_000,
    reporters: ['verbose'],
    disableConsoleIntercept: true,
  },
});
