import { defineConfig, type TestProjectConfiguration } from 'vitest/config';
import { RunSummary } from './test/support/run-summary.ts';
import { project } from './vitest.config.ts';

/** Runs that a person starts, one at a time: `npm run rig chaos` runs the project `chaos`, and so on. */

type Options = NonNullable<Extract<TestProjectConfiguration, { test?: unknown }>['test']>;

/** A PostgreSQL server for the tests. */
const SERVER = { globalSetup: ['test/support/global-setup.ts'] };
const FUZZED = [
  ...['test/http/wire-fuzz.test.ts', 'test/http/short-publish-fuzz.test.ts'],
  ...['test/e2e/fuzz.test.ts', 'test/e2e/fuzz-graphql.test.ts'],
];

const RUNS: Record<string, Options> = {
  /** Writes docs/evidence. It brings database servers of its own. */
  chaos: {
    include: ['rigs/chaos/**/*.chaos.ts'],
    // One report of all test files (rigs/chaos/evidence.ts), also of those that another command with the same name
    // runs.
    env: { CHAOS_RUN: process.env.CHAOS_RUN ?? String(Date.now()) },
    // Only what waits most of the time is marked as concurrent. All load, receivers and relays are in one process: with
    // more than the machine can carry it is late by seconds, and deliveries time out that no receiver has seen.
    maxConcurrency: Number(process.env.CHAOS_AT_ONCE ?? 6),
    hookTimeout: 60_000,
  },
  /** Failovers of a Patroni cluster, which needs patroni, etcd-server and postgresql-15 of Debian. */
  patroni: { include: ['rigs/patroni/**/*.patroni.ts'] },
  /**
   * The service as an operator runs it, under load. Writes jobferry-operations.json into the folder for temporary
   * files.
   */
  trials: { include: ['rigs/trials/**/*.trial.ts'], testTimeout: 300_000, hookTimeout: 120_000, ...SERVER },
  /** An earlier build beside the present one. It needs the history of the repository. */
  upgrade: { include: ['rigs/upgrade/**/*.upgrade.ts'], testTimeout: 300_000, hookTimeout: 300_000, ...SERVER },
  /** The generated input of `npm test`, with more cases (FUZZ_CASES) and another seed each time. */
  fuzz: { include: FUZZED, env: { FUZZ_CASES: process.env.FUZZ_CASES ?? '10000' }, ...SERVER },
  /** The packages, installed from the registry into fresh projects, against a real service. */
  packages: { include: ['rigs/packages/**/*.packages.ts'], testTimeout: 300_000, hookTimeout: 300_000, ...SERVER },
  /**
   * The costs of a job, in counts: writes test/weight/weight.json, with which `npm test` compares.
   * On a server of its own.
   */
  weigh: { include: ['test/weight/**/*.weigh.ts'], ...SERVER },
  /** Every statement of `src/db` against a million jobs (PLANS_JOBS), on a server of its own. */
  plans: { include: ['rigs/plans/**/*.plans.ts'], testTimeout: 240_000, hookTimeout: 900_000, ...SERVER },
  /** The pictures of docs/dashboard, from the built dashboard. */
  screenshots: { include: ['test/browser/**/*.pictures.ts'], testTimeout: 60_000, hookTimeout: 60_000, ...SERVER },
  /** Times and costs of the dashboard, in a real browser, with a million jobs (DASHBOARD_JOBS). */
  dashboard: { include: ['test/browser/**/*.bars.ts'], testTimeout: 600_000, hookTimeout: 900_000, ...SERVER },
};

export default defineConfig({
  test: {
    fileParallelism: false,
    teardownTimeout: 30_000,
    reporters: ['verbose', new RunSummary('npx vitest run --config vitest.runs.config.ts')],
    // Printed at once: a phase lasts minutes.
    disableConsoleIntercept: true,
    projects: Object.entries(RUNS).map(([name, options]) => project({ name, ...options })),
  },
});
