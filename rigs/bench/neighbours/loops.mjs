import { setTimeout as pause } from 'node:timers/promises';

/** No attack goes on for longer, whatever happens to the one who is to stop it. */
const LONGEST_MS = 120_000;
/** Between two requests of one loop that were refused. */
const BACK_OFF_MS = 20;

/** Runs `work` in so many loops at once until the attack is stopped. `work` resolves with false when it was refused. */
export async function inLoops(context, loops, work) {
  const endsAt = performance.now() + LONGEST_MS;
  await Promise.all(
    Array.from({ length: loops }, async (_, n) => {
      for (let round = 0; !context.stopped && performance.now() < endsAt; round += 1) {
        if ((await work(n, round)) === false) await pause(BACK_OFF_MS);
      }
    }),
  );
}

/** Does `work` for each item once, so many at a time. */
export async function each(items, atOnce, work) {
  const entries = [...items].values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of entries) await work(item);
    }),
  );
}
