import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { percentiles } from '../measure/statistics.mjs';

const WRITES = 100;

/** The time of a durable write of 8 KiB on this machine, in milliseconds: every figure below depends on it. */
export async function flushMs(folder) {
  const path = join(folder, 'flush');
  const file = await open(path, 'w');
  const page = Buffer.alloc(8192, 1);
  const times = [];
  for (let n = 0; n < WRITES; n += 1) {
    const startedAt = performance.now();
    await file.write(page);
    await file.datasync();
    times.push(performance.now() - startedAt);
  }
  await file.close();
  await rm(path);
  return percentiles(times);
}
