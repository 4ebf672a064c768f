import { afterAll, describe, expect, it } from 'vitest';
import { type Evidence, writeEvidence } from './evidence.ts';
import { crashPostgres, freezeWorker, killApi, killWorker, restartPostgres, soup, strike } from './faults.ts';
import { play, type Scenario } from './scenario.ts';

/** Tier 2: the counts of the matrix (reliability.md section 3). Started by `npm run chaos`; each count is a variable. */

const count = (name: string, usual: number) => Number(process.env[`CHAOS_${name}`] ?? usual);
const COUNTS = {
  workerKills: count('WORKER_KILLS', 200),
  apiKills: count('API_KILLS', 200),
  freezes: count('FREEZES', 200),
  crashes: count('CRASHES', 50),
  restarts: count('RESTARTS', 20),
  soups: count('SOUPS', 3),
  soupSeconds: count('SOUP_SECONDS', 120),
};
const SEED = count('SEED', Date.now() % 2 ** 31);
const PER_SECOND = count('PER_SECOND', 40);
/** Of kills and freezes, so many must have hit work under way for a run to count. */
const HIT_SHARE = 0.8;
const MINUTES = 60_000;
/** A phase that has not done its count by then ends, and fails for it: the whole is to take 45 minutes at most. */
const PATIENCE_MS = { kills: 16 * MINUTES, freezes: 8 * MINUTES, crashes: 8 * MINUTES };
const within = (ms: number) => Date.now() + ms;

const evidence: Evidence = { seed: SEED, counts: COUNTS, perSecond: PER_SECOND, phases: [], unfinished: null };

afterAll(() => writeEvidence(evidence));

interface Phase extends Omit<Scenario, 'perSecond' | 'onProgress'> {
  /** How often each must have struck. */
  least: Record<string, number>;
}

const PHASES: Phase[] = [
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
      }) satisfies Phase,
  ),
];

describe('the matrix', () => {
  it.each(PHASES)('$name', { timeout: 30 * MINUTES }, async ({ least, ...phase }) => {
    const { summary, lastWords } = await play({
      ...phase,
      perSecond: PER_SECOND,
      onProgress(rig, seconds) {
        const faults: Record<string, number> = {};
        for (const { kind } of rig.faults) faults[kind] = (faults[kind] ?? 0) + 1;
        const { length: published } = rig.load.publishes;
        const { length: deliveries } = rig.receiver.deliveries;
        evidence.unfinished = { name: phase.name, seconds: Math.round(seconds), published, deliveries, faults };
        const struck = Object.entries(faults).map(
          ([kind, n]) => `${kind} ${n}${kind in least ? `/${least[kind]}` : ''}`,
        );
        console.log(`${phase.name}, ${Math.round(seconds)} s: ${struck.join(', ')}; ${deliveries} deliveries`);
        void writeEvidence(evidence);
      },
    });
    evidence.unfinished = null;
    evidence.phases.push(summary);
    await writeEvidence(evidence);
    console.log(JSON.stringify(summary));
    expect({ violations: summary.examples, lastWords }).toEqual({ violations: [], lastWords: [] });
    expect(summary).toMatchObject({ failure: null, lost: 0 });
    for (const [kind, times] of Object.entries(least)) {
      expect(summary.faults[kind]?.count ?? 0, kind).toBe(times);
    }
    for (const kind of ['kill-worker', 'kill-api', 'freeze-worker']) {
      const struck = summary.faults[kind];
      if (struck === undefined || struck.count < 20) continue;
      expect(struck.hitWork / struck.count, `${kind} that hit work`).toBeGreaterThanOrEqual(HIT_SHARE);
    }
  });
});
