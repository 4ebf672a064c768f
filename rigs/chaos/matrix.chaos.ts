import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { breakPipelines, connectMany } from './client-faults.ts';
import { holdSnapshot } from './database-faults.ts';
import { type Evidence, writeEvidence } from './evidence.ts';
import { crashPostgres, freezeWorker, killApi, killWorker, restartPostgres, soup, strike } from './faults.ts';
import { thawKeylessWorker } from './key-faults.ts';
import { count, MINUTES, type Phase, runPhase, within } from './phases.ts';

/** Tier 2: the counts of the matrix (docs/invariants.md). Started by `npm run rig chaos`; each count is a variable. */

const COUNTS = {
  workerKills: count('WORKER_KILLS', 200),
  apiKills: count('API_KILLS', 200),
  freezes: count('FREEZES', 200),
  crashes: count('CRASHES', 50),
  restarts: count('RESTARTS', 20),
  crowds: count('CROWDS', 20),
  pipelines: count('PIPELINES', 20),
  snapshotKills: count('SNAPSHOT_KILLS', 40),
  soups: count('SOUPS', 3),
  soupSeconds: count('SOUP_SECONDS', 120),
};
const SEED = count('SEED', Date.now() % 2 ** 31);
const PER_SECOND = count('PER_SECOND', 40);
/** A phase that has not reached its count by then ends and fails. A process may take four seconds to start. */
const PATIENCE_MS = { kills: 40 * MINUTES, freezes: 20 * MINUTES, crashes: 20 * MINUTES };
/**
 * A killed worker's jobs go on within this, the worst of them as well. It is asserted where nothing but kills happens:
 * in a mixture another fault may hit the worker that would go on.
 */
const RECOVERED_MS = 5000;

const evidence: Evidence = { part: 'matrix', seed: SEED, perSecond: PER_SECOND, phases: [], unfinished: [] };

afterAll(() => writeEvidence(evidence));

const PHASES: Omit<Phase, 'perSecond'>[] = [
  {
    name: 'kills of workers and APIs',
    seed: SEED,
    workers: 4,
    apis: 3,
    faults: (rig) =>
      Promise.all([
        strike(rig, killWorker, { times: COUNTS.workerKills, atOnce: 2, until: within(PATIENCE_MS.kills) }),
        strike(rig, killApi, { times: COUNTS.apiKills, atOnce: 2, until: within(PATIENCE_MS.kills) }),
      ]),
    least: { 'kill-worker': COUNTS.workerKills, 'kill-api': COUNTS.apiKills },
  },
  {
    name: 'frozen workers',
    seed: SEED + 1,
    workers: 8,
    apis: 2,
    // Most of them at the same time: a freeze lasts longer than a lease.
    faults: (rig) =>
      strike(rig, freezeWorker, { times: COUNTS.freezes, atOnce: 6, until: within(PATIENCE_MS.freezes) }),
    least: { 'freeze-worker': COUNTS.freezes },
  },
  {
    name: 'crashes and restarts of PostgreSQL',
    seed: SEED + 2,
    workers: 3,
    apis: 2,
    faults: async (rig) => {
      const until = within(PATIENCE_MS.crashes);
      await strike(rig, crashPostgres, { times: COUNTS.crashes, atOnce: 1, until });
      await strike(rig, restartPostgres, { times: COUNTS.restarts, atOnce: 1, until });
    },
    least: { 'crash-postgres': COUNTS.crashes, 'restart-postgres': COUNTS.restarts },
  },
  {
    name: 'F-47: 400 connections at once',
    seed: SEED + 100,
    workers: 2,
    apis: 1,
    faults: (rig) => strike(rig, connectMany, { times: COUNTS.crowds, atOnce: 1, until: within(PATIENCE_MS.crashes) }),
    least: { 'connect-many': COUNTS.crowds },
  },
  {
    name: 'F-51: connections that break with unread answers',
    seed: SEED + 101,
    workers: 2,
    apis: 1,
    faults: (rig) =>
      strike(rig, breakPipelines, { times: COUNTS.pipelines, atOnce: 1, until: within(PATIENCE_MS.crashes) }),
    least: { 'break-pipelines': COUNTS.pipelines },
  },
  {
    name: 'F-52: a worker without the key of the others',
    seed: SEED + 102,
    // The last one does not serve the API, where it would create queues that are not encrypted.
    workers: 4,
    apis: 1,
    envOfOthers: { ENCRYPTION_KEY: randomBytes(32).toString('base64') },
    faults: (rig) => strike(rig, thawKeylessWorker, { times: 1, atOnce: 1 }),
    least: { 'freeze-worker': 1 },
  },
  {
    name: 'F-54: kills while a snapshot is held',
    seed: SEED + 103,
    workers: 3,
    apis: 2,
    faults: holdSnapshot(async (rig) => {
      const kills = { times: COUNTS.snapshotKills, atOnce: 1, until: within(PATIENCE_MS.kills) };
      await Promise.all([strike(rig, killWorker, kills), strike(rig, killApi, kills)]);
    }),
    least: { 'held-snapshot': 1, 'kill-worker': COUNTS.snapshotKills, 'kill-api': COUNTS.snapshotKills },
  },
  ...Array.from(
    { length: COUNTS.soups },
    (_, n) =>
      ({
        name: `soup of all faults, ${n + 1}`,
        seed: SEED + 3 + n,
        workers: 4,
        apis: 2,
        faults: (rig) => soup(rig, { ms: COUNTS.soupSeconds * 1000, hands: 4 }),
        least: {},
      }) satisfies Omit<Phase, 'perSecond'>,
  ),
];

describe('the matrix', () => {
  it.each(PHASES)('$name', { timeout: 60 * MINUTES }, async (phase) => {
    const { kills } = await runPhase(evidence, { ...phase, perSecond: PER_SECOND });
    if (phase.least['kill-worker'] !== undefined) {
      expect(Math.max(0, ...kills), 'the worst recovery from a kill').toBeLessThan(RECOVERED_MS);
    }
  });
});
