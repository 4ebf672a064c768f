import { defineConfig } from 'vitest/config';

/** `npm run screenshots`: the pictures of docs/dashboard, from the built dashboard. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.pictures.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    reporters: ['verbose'],
  },
});
