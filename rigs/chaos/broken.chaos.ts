import { expect, it } from 'vitest';
import { killWorker, strike } from './faults.ts';
import { PATCHES, type Patch } from './planted/patches.ts';
import type { Rig } from './rig.ts';
import { play } from './scenario.ts';

/**
 * The whole harness against a service that is really broken: functions of its database are replaced by ones with a bug
 * each. planted.chaos.ts tests the checker with altered records; this tests everything from the fault to the report.
 */

async function apply(rig: Rig, patches: Patch[]): Promise<void> {
  for (const { name, from, to } of patches) {
    const [row] = await rig.readings.query<{ source: string }>(
      'select pg_get_functiondef(oid) as source from pg_proc where proname = $1',
      [name],
    );
    const source = row?.source ?? '';
    if (!source.includes(from)) throw new Error(`${name} no longer contains "${from}"`);
    await rig.readings.query(source.replaceAll(from, to));
  }
}

it.each(Object.entries(PATCHES))('catches %s', { timeout: 180_000 }, async (name, patches) => {
  const faults = async (rig: Rig) => {
    await apply(rig, patches);
    // More at once than any limit allows.
    await Promise.all(rig.queues.flatMap((queue) => Array.from({ length: 20 }, () => rig.load.publish(queue))));
    await strike(rig, killWorker, { times: 1, atOnce: 1 });
  };
  const { summary, verdict } = await play({ name, seed: 11, apis: 1, workers: 2, perSecond: 60, faults });
  expect(summary.failure).toBeNull();
  const caught = new Set(verdict.violations.map(({ id }) => id));
  expect([...caught]).toEqual(expect.arrayContaining(patches.map(({ id }) => id)));
});
