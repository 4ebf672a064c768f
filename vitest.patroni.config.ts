import { execFileSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

/** `npm run trial:patroni`: failovers of a Patroni cluster, which needs patroni, etcd-server and postgresql-15 of Debian. */
export default defineConfig({
  test: {
    include: ['test/patroni/**/*.patroni.ts'],
    fileParallelism: false,
    reporters: ['verbose'],
    // Printed at once: a phase lasts minutes.
    disableConsoleIntercept: true,
  },
});
