import { beforeAll, describe, expect, it } from 'vitest';
import { hasGivenServer } from '../../test/support/given-server.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { CHECKS, check } from './checker/index.ts';
import { killWorker, strike } from './faults.ts';
import { ordinaryJob } from './planted/bug.ts';
import { stopWhileWriting } from './planted/delivering.ts';
import { BUGS } from './planted/index.ts';
import type { Run } from './records.ts';
import { startRig } from './rig.ts';

/** Tests the checker: for every invariant a run that breaks it. The checker must report it under the invariant's id. */

const SEED = 7;
/** The recorded run into which bugs are planted. */
const INGREDIENTS = `select count(*) > 400
    and exists (select from dead_letter where replayed_at is not null)
    and exists (select from attempt where error = 'ack_timeout')
    and exists (select from attempt where error like 'report-%' and status = 'nacked')
    and exists (select from job where status = 'completed' and defer_count = 1 and attempts = 1 and history_count = 2
                  and last_error = 'HTTP 429')
    as complete from job where status in ('completed', 'dead')`;

let clean: Run;

beforeAll(async () => {
  const rig = await startRig({ seed: SEED, apis: 1, workers: 2 });
  try {
    rig.load.start(50);
    await strike(rig, killWorker, { times: 1, atOnce: 1 });
    const isRich = async () => (await rig.readings.query(INGREDIENTS))[0]?.complete;
    await waitFor(() => isRich(), {
      timeoutMs: 60_000,
      everyMs: 500,
      message: 'a run that has something of everything',
    });
    clean = await rig.drain();
  } finally {
    await rig.close();
  }
}, 120_000);

const idsOf = (run: Run) => [...new Set(check(run).violations.map(({ id }) => id))];

describe.skipIf(hasGivenServer)('the checker', () => {
  it('finds nothing wrong with a run in which nothing is', () => {
    expect(check(clean)).toMatchObject({ violations: [], lost: 0 });
  });

  it('excuses the one request that a process was writing when it was stopped', () => {
    const run = structuredClone(clean);
    stopWhileWriting(run, [ordinaryJob(run)]);
    expect(check(run).violations).toEqual([]);
  });

  it.each(BUGS)('$id: $what', ({ id, plant }) => {
    const run = structuredClone(clean);
    plant(run);
    expect(idsOf(run)).toEqual([id]);
  });

  it('has a bug planted for everything that it checks', () => {
    expect([...new Set(BUGS.map(({ id }) => id))].sort()).toEqual(Object.keys(CHECKS).sort());
  });
});
