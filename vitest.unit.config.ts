import { defineConfig } from 'vitest/config';
import { plainTests, unitTests } from './test/support/unit-tests.ts';
import { plain, project } from './vitest.config.ts';

/** `npm run test:unit`: the tests that need neither a database nor a build. */
export default defineConfig({
  test: { maxWorkers: 3, projects: [plain, project('isolated', { include: unitTests(), exclude: plainTests() })] },
});
