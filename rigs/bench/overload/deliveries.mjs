import { setTimeout as sleep } from 'node:timers/promises';
import { Assistant } from '../load/assistant.mjs';

const DRAINED_WITHIN_S = 10;

/** A receiver in a process of its own, and how many deliveries came to it in each second. */
export async function countDeliveries() {
  const receiver = new Assistant('../overload/receiver.mjs');
  const url = await receiver.ask('open');
  let [seconds, timer] = [[], undefined];
  return {
    url,
    start() {
      seconds = [];
      let before = receiver.ask('count');
      timer = setInterval(async () => {
        const last = before;
        before = receiver.ask('count');
        seconds.push((await before) - (await last));
      }, 1000);
    },
    /** How many came in each second since the start. */
    end() {
      clearInterval(timer);
      return seconds;
    },
    /** Until nothing comes any more, or for a while. */
    async drained() {
      for (let n = 0, before = -1; n < DRAINED_WITHIN_S; n += 1) {
        const count = await receiver.ask('count');
        if (count === before) return;
        before = count;
        await sleep(1000);
      }
    },
    stop: () => receiver.stop(),
  };
}
