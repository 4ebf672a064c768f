import { it } from 'vitest';
import {
  crashPostgres,
  freezeWorker,
  killApi,
  killWorker,
  lockTable,
  loseWakeUps,
  stopWorker,
  strike,
  terminateBackends,
} from '../../rigs/chaos/faults.ts';
import { expectSurvivalAnywhere } from '../../rigs/chaos/survival.ts';
import { hasGivenServer } from '../support/given-server.ts';

/**
 * Tier 1 (docs/invariants.md): the faults that are soon over, once each, in one run. `npm run rig chaos` has all of
 * them, in `surviving.chaos.ts` a few times and in the matrix by the hundred. docs/delivery-promise.md names the tests
 * of the other faults.
 */

const once = { times: 1, atOnce: 1 };

it.skipIf(hasGivenServer)(
  'nothing is lost and no invariant broken by processes that are killed, frozen and stopped, and a database that ' +
    'crashes and is locked (F-1 to F-5, F-7, F-8, F-19, F-23)',
  { timeout: 900_000 },
  () =>
    expectSurvivalAnywhere('a few faults', async (rig) => {
      await Promise.all([
        strike(rig, freezeWorker, once),
        strike(rig, killWorker, once),
        strike(rig, killApi, once).then(() => strike(rig, loseWakeUps, once)),
      ]);
      await strike(rig, stopWorker, once);
      await strike(rig, crashPostgres, once);
      await strike(rig, terminateBackends, once);
      await strike(rig, lockTable, once);
    }),
);
