import { showChanged } from './live/live.ts';
import type { Outcome } from './outcome.ts';

/**
 * Runs a mutation. Its new state of the queue is shown at once, ahead of the live stream. A request that fails is an
 * outcome too.
 */
export async function changeQueue<Value extends object>(run: () => Promise<Outcome<Value>>): Promise<Outcome<Value>> {
  try {
    const outcome = await run();
    if (outcome.ok && 'queue' in outcome.value) showChanged([outcome.value.queue as object]);
    return outcome;
  } catch (error) {
    return { ok: false, message: (error as Error).message, fieldErrors: new Map() };
  }
}
