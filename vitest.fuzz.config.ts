import { defineConfig } from 'vitest/config';
import { projects } from './vitest.config.ts';

/** `npm run test:fuzz`: the generated input of `npm test`, with more cases and another seed each time. */
process.env.FUZZ_CASES ??= '10000';

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    teardownTimeout: 30_000,
    projects: projects(['test/http/wire-fuzz.test.ts', 'test/e2e/fuzz.test.ts', 'test/e2e/fuzz-graphql.test.ts']),
  },
});
