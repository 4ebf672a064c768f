import { defineConfig } from 'vitest/config';
import { unitTests } from './test/support/unit-tests.ts';
import { projects } from './vitest.config.ts';

/** `npm run test:unit`: the tests that need neither a database nor a build. */
export default defineConfig({ test: { maxWorkers: 3, projects: projects(unitTests()) } });
