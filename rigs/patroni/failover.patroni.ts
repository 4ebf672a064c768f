import { afterAll, beforeAll, expect, it } from 'vitest';
import { check } from '../chaos/checker/index.ts';
import { versionsWith } from '../chaos/evidence.ts';
import { count, MINUTES } from '../chaos/phases.ts';
import { type Rig, startRig } from '../chaos/rig.ts';
import { play } from '../chaos/scenario.ts';
import { summarise } from '../chaos/summary.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { type TrialEvidence, writeTrial } from './evidence.ts';
import { freezeLeader, killLeader, type Outage, switchOver } from './faults.ts';
import { noticedOf } from './outages.ts';
import { versionsOf } from './programs.ts';

/** `npm run rig patroni`: failovers of a real Patroni cluster under load. Each count is a variable. */

const COUNTS = {
  kills: count('LEADER_KILLS', 10),
  switchovers: count('SWITCHOVERS', 5),
  freezes: count('LEADER_FREEZES', 3),
};
const SEED = count('SEED', Date.now() % 2 ** 31);
const PER_SECOND = count('PER_SECOND', 40);
/** Publishes may be refused for so long after the cluster has a leader. */
const REFUSED_AFTER_LEADER_MS = 2000;
const FENCED_MS = 5000;
const SIZE = { apis: 2, workers: 2 };

const evidence: TrialEvidence = {
  versions: null,
  seed: SEED,
  counts: COUNTS,
  perSecond: PER_SECOND,
  phases: [],
  outages: [],
  freezes: [],
};
let cluster: Cluster;

beforeAll(async () => {
  evidence.versions = await versionsWith(await versionsOf());
  cluster = await startCluster();
}, 5 * MINUTES);
afterAll(async () => {
  await cluster?.stop();
  await writeTrial(evidence);
}, MINUTES);

async function failOvers(name: string, times: number, fault: (rig: Rig) => Promise<Outage>): Promise<void> {
  const { summary, lastWords } = await play({
    name,
    seed: SEED,
    perSecond: PER_SECOND,
    ...SIZE,
    startServer: () => cluster.open(`trial_${name.replace(/\W/g, '_')}`),
    faults: async (rig) => {
      for (let n = 0; n < times; n += 1) {
        const noticed = noticedOf(rig, await fault(rig));
        console.log(`${name}, ${n + 1} of ${times}: ${JSON.stringify(noticed)}`);
        evidence.outages.push(noticed);
      }
    },
  });
  evidence.phases.push(summary);
  console.log(JSON.stringify(summary));
  if (summary.failure !== null) console.log(await cluster.lastWords());
  expect({ violations: summary.examples, lastWords }).toEqual({ violations: [], lastWords: [] });
  expect(summary).toMatchObject({ failure: null, lost: 0 });
  assertSoon(name);
}

function assertSoon(kind: string): void {
  const late = evidence.outages.filter((one) => one.refusedAfterLeader > REFUSED_AFTER_LEADER_MS);
  expect(late, kind).toEqual([]);
}

/** Each has a database and processes of its own, because the cluster may go back, and then these end with it. */
async function freeze(n: number): Promise<void> {
  const name = `freeze ${n + 1}`;
  const startedAt = Date.now();
  const options = { seed: SEED + n, ...SIZE, startServer: () => cluster.open(`trial_freeze_${n + 1}`) };
  const rig = await startRig(options);
  try {
    rig.load.start(PER_SECOND);
    const frozen = await freezeLeader(rig);
    evidence.freezes.push(frozen);
    const noticed = noticedOf(rig, {
      ...frozen,
      ...(frozen.wentBack === null ? {} : { endedAt: frozen.leaderAt + 10_000 }),
    });
    evidence.outages.push(noticed);
    console.log(`${name}: ${JSON.stringify({ frozen, noticed })}`);
    expect(frozen.fencedMs).toBeLessThanOrEqual(FENCED_MS);
    if (frozen.wentBack !== null) {
      expect(frozen.wentBack.said).toContain('the database went back from timeline');
      expect(frozen.wentBack.lost).toBe(0);
      return;
    }
    const healedAt = Date.now();
    const run = await rig.drain();
    const summary = summarise({ name, seed: options.seed, startedAt, healedAt, failure: null }, run, check(run));
    evidence.phases.push(summary);
    expect({ violations: summary.examples, lastWords: rig.lastWords }).toEqual({ violations: [], lastWords: [] });
    expect(summary.lost).toBe(0);
    assertSoon(name);
  } catch (error) {
    console.log(await cluster.lastWords());
    throw error;
  } finally {
    await rig.close();
  }
}

it('kills of the leader', { timeout: 40 * MINUTES }, () => failOvers('kills', COUNTS.kills, killLeader));
it('switchovers', { timeout: 20 * MINUTES }, () => failOvers('switchovers', COUNTS.switchovers, switchOver));
it.each(Array.from({ length: COUNTS.freezes }, (_, n) => n))('frozen leader %i', { timeout: 10 * MINUTES }, freeze);
