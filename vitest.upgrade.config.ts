import { defineConfig } from 'vitest/config';

/** `npm run test:upgrade`: an earlier build beside the present one. It needs the history of the repository. */
export default defineConfig({
  test: {
    include: ['test/upgrade/**/*.upgrade.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ['verbose'],
  },
});
