import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Database } from '../../src/db/connection/database.ts';
import type { Context } from '../../src/services/context.ts';
import { createPublish, type PublishInput } from '../../src/services/jobs/publish.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A publish whose statements take 3 s each, and tell it to try again; and how many were sent. */
function publishSlowly(input: Partial<PublishInput>) {
  const sent = { rounds: 0 };
  const db = {
    cipher: { keyId: null },
    async one(_statement: unknown, [items]: [string]) {
      sent.rounds += 1;
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
  const account = { id: 'a', plan: 'pro' } as never;
  const publishing = createPublish(context).publish(account, 'mails', {
    payload: '{}',
    idempotencyKey: 'once',
    ...input,
  });
  return { sent, refused: expect(publishing).rejects.toMatchObject({ kind: 'unavailable' }) };
}

/** Found by the simulation: a publish that needed another round got all of its time again (I-37). */
it('has one deadline for all rounds', async () => {
  const { sent, refused } = publishSlowly({});
  await vi.advanceTimersByTimeAsync(20_000);
  await refused;
  // Each round is within the time of one, and both together are not.
  expect(sent.rounds).toBe(2);
});

/** Found by F-40: a publish whose key was looked up for 3 s got all of its time after that (I-37). */
it('counts the time that the client has waited before', async () => {
  const { sent, refused } = publishSlowly({ waitedMs: 3000 });
  await vi.advanceTimersByTimeAsync(1600);
  await refused;
  expect(sent.rounds).toBe(1);
});
