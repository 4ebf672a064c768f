import { expect, it } from 'vitest';
import { waitFor } from '../../test/support/wait-for.ts';
import {
  crashPostgres,
  cutConnections,
  exhaustConnections,
  freezeWorker,
  killApi,
  killWorker,
  lockTable,
  loseWakeUps,
  restartPostgres,
  stallConnections,
  stopWorker,
  strike,
  terminateBackends,
} from './faults.ts';
import type { QueueRecord } from './records.ts';
import type { Rig } from './rig.ts';
import { play } from './scenario.ts';
import { expectSurvival } from './survival.ts';

/**
 * Each fault once or a few times, in a fixed order: what breaks here is easier to explain than what breaks in the
 * matrix, where there are hundreds. `surviving.test.ts` has some of them in one run.
 */

const SEED = 20_261_121;
const MINUTES = 60_000;
/** At once, where nothing is to be refused. */
const PUBLISHERS = 50;
const once = { times: 1, atOnce: 1 };

it.each<[string, (rig: Rig) => Promise<unknown>]>([
  [
    'processes that are killed, frozen and stopped (F-1 to F-4, F-19, F-23)',
    async (rig) => {
      await Promise.all([
        strike(rig, freezeWorker, once),
        strike(rig, killWorker, { times: 3, atOnce: 1 }),
        strike(rig, killApi, { times: 3, atOnce: 1 }),
      ]);
      await strike(rig, stopWorker, once);
    },
  ],
  [
    'a database that crashes, restarts, is cut off, full or locked (F-5 to F-8, F-10)',
    async (rig) => {
      await strike(rig, crashPostgres, once);
      await strike(rig, restartPostgres, once);
      await strike(rig, terminateBackends, once);
      await strike(rig, cutConnections, once);
      await strike(rig, stallConnections, once);
      await strike(rig, exhaustConnections, once);
      await strike(rig, lockTable, once);
      await strike(rig, loseWakeUps, once);
    },
  ],
])('nothing is lost and no invariant broken by %s', { timeout: 3 * MINUTES }, expectSurvival);

it('four workers without a fault share the work, and nothing comes twice (F-21)', {
  timeout: 2 * MINUTES,
}, async () => {
  const atWork = async ({ readings }: Rig) =>
    (await readings.query<{ n: number }>('select count(distinct worker_id)::int as n from chaos_change'))[0]?.n;
  const faults = async (rig: Rig) => {
    const [plain] = rig.queues.filter(({ unlimited, name }) => unlimited && name === 'plain');
    // Not all at once: a busy machine would refuse what waits for too long to be written.
    for (let n = 0; n < 1000; n += PUBLISHERS) {
      await Promise.all(Array.from({ length: PUBLISHERS }, () => rig.load.publish(plain as QueueRecord)));
    }
    await waitFor(async () => (await atWork(rig)) === 4, { timeoutMs: MINUTES, message: 'work of each worker' });
  };
  const { summary } = await play({ name: 'no fault', seed: SEED, apis: 1, workers: 4, perSecond: 20, faults });
  expect(summary).toMatchObject({ failure: null, examples: [], lost: 0, indeterminate: 0 });
  expect(summary.delivered).toBeGreaterThan(1000);
  // A request that the receiver resets on a reused connection is sent again at once.
  expect(summary.duplicates).toBeLessThanOrEqual(summary.resets);
});
