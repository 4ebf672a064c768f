import { afterEach, expect, it, vi } from 'vitest';
import { Cipher } from '../../src/db/connection/cipher.ts';
import type { Database } from '../../src/db/connection/database.ts';
import { SettleBatcher, type SettledDelivery } from '../../src/worker/dispatch/settle-batcher.ts';

/** Records the items of each statement, and returns that all of them were applied. */
function recordingDatabase() {
  const batches: string[][] = [];
  const db = {
    cipher: new Cipher(),
    async one(_statement: unknown, [items]: [string]) {
      const ids = (JSON.parse(items) as { id: string }[]).map(({ id }) => id);
      batches.push(ids);
      return { applied: ids };
    },
  };
  return { batches, db: db as unknown as Database };
}

function outcomeOf(accountId: string, id: string): SettledDelivery {
  const transition = { status: 'completed', shortHolds: 0 };
  const settlement = { id, expected: 'processing', token: '1', transition, answer: null };
  const settled = { job: { accountId, id }, delivery: { settlement }, giveUpAt: Number.POSITIVE_INFINITY };
  return settled as unknown as SettledDelivery;
}

it('writes the outcome of a quiet account before the rest of a thousand of another', async () => {
  const { batches, db } = recordingDatabase();
  const settles = new SettleBatcher(db, () => undefined);
  for (let n = 0; n < 1000; n += 1) void settles.add(outcomeOf('flooding', `flood-${n}`), false);
  await settles.add(outcomeOf('quiet', 'quiet'), false);
  await settles.idle();
  expect(batches[0]).toContain('quiet');
  expect(batches.flat()).toHaveLength(1001);
});

afterEach(() => void vi.useRealTimers());

it('writes outcomes for which nothing waits together, after a moment', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { batches, db } = recordingDatabase();
  const settles = new SettleBatcher(db, () => undefined);
  const add = (id: string, mayWait = true) => settles.add(outcomeOf('account', id), mayWait);
  const first = Promise.all([add('a'), add('b')]);
  await vi.advanceTimersByTimeAsync(19);
  expect(batches).toEqual([]);
  const last = add('c');
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all([first, last]);
  expect(batches).toEqual([['a', 'b', 'c']]);

  // One for which something waits takes the others along, and so does a job that waits for a slot.
  await Promise.all([add('d'), add('e', false)]);
  const hurried = add('f');
  settles.hurry();
  await hurried;
  expect(batches.slice(1)).toEqual([['d', 'e'], ['f']]);

  await Promise.all(Array.from({ length: 16 }, (_, n) => add(`many ${n}`)));
  expect(batches[3]).toHaveLength(16);
  await vi.advanceTimersByTimeAsync(1000);
  expect(batches).toHaveLength(4);
});
