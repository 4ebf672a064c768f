import { execFileSync } from 'node:child_process';
import { defineConfig } from 'vitest/config';

// The tests import the generated code. When it is current, this takes milliseconds.
execFileSync(process.execPath, ['scripts/generate.mjs'], { stdio: 'inherit', cwd: import.meta.dirname });

/** `npm run chaos`: the long runs that write docs/evidence. They bring database servers of their own. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.chaos.ts'],
    // One report of all test files (test/chaos/evidence.ts), also of those that another command with the same name runs.
    env: { CHAOS_RUN: process.env.CHAOS_RUN ?? String(Date.now()) },
    fileParallelism: false,
    // Only what waits most of the time is marked as concurrent. All load, receivers and relays are in one process: with twice as
    // many on two cores it is late by seconds, and deliveries time out that no receiver has seen.
    maxConcurrency: 6,
    hookTimeout: 60_000,
    reporters: ['verbose'],
    // Printed at once: a phase lasts minutes.
    disableConsoleIntercept: true,
  },
});
