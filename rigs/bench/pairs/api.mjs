// The API of both builds in process, window by window in turn: a change of some microseconds shows here first.
import { Assistant } from '../load/assistant.mjs';
import { percentiles } from '../measure/statistics.mjs';
import { compare, orderOf } from './judge.mjs';

const WARM_UP = 25;
const WINDOWS = 60;
const REQUESTS = 400;

/** @returns µs per request of both builds, and the ratio; `{ problem }` where a build cannot be loaded */
export async function apiInProcess(builds) {
  const processes = {};
  try {
    for (const side of orderOf(0)) {
      processes[side] = new Assistant('../pairs/api-process.mjs');
      await processes[side].ask('start', { dist: builds[side].dist });
    }
    const windows = [];
    for (let n = 0; n < WARM_UP + WINDOWS; n += 1) {
      const pair = {};
      for (const side of orderOf(n)) pair[side] = await processes[side].ask('window', { requests: REQUESTS });
      if (n >= WARM_UP) windows.push(pair);
    }
    const lowest = (side) => percentiles(windows.map((pair) => pair[side]), { p10: 0.1 }).p10;
    return { ...compare(windows, (us) => us), p10: { new: lowest('new'), old: lowest('old') } };
  } catch (error) {
    return { problem: error.message.split('\n')[0] };
  } finally {
    for (const one of Object.values(processes)) one.stop();
  }
}
