import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import type { Context } from '../../src/services/context.ts';
import { createPublish } from '../../src/services/jobs/publish.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Found by the simulation: a publish that needed another round got all of its time again (I-37). */
it('has one deadline for all rounds', async () => {
  let rounds = 0;
  const db = {
    cipher: { keyId: null },
    async one(_statement: unknown, [items]: [string]) {
      rounds += 1;
      await new Promise((resolve) => setTimeout(resolve, 3000));
      const { length } = JSON.parse(items) as unknown[];
      const others = Array.from({ length }, (_, index) => ({ outcome: 'retry', index }));
      return { answers: { ids: others.map(() => null), queueIds: others.map(() => null), others } };
    },
  } as unknown as Database;
  const context = {
    db,
    periods: { retentionMs: 1, lifetimeMs: 1 },
    plans: { pro: { monthlyAttempts: null } },
  } as unknown as Context;
  const publishing = createPublish(context).publish({ id: 'a', plan: 'pro' } as never, 'mails', { payload: '{}' });
  const refused = expect(publishing).rejects.toMatchObject({ kind: 'unavailable' });
  await vi.advanceTimersByTimeAsync(20_000);
  await refused;
  // Each round is within the time of one, and both together are not.
  expect(rounds).toBe(2);
});
