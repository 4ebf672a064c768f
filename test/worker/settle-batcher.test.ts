import { expect, it } from 'vitest';
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
  for (let n = 0; n < 1000; n += 1) void settles.add(outcomeOf('flooding', `flood-${n}`));
  await settles.add(outcomeOf('quiet', 'quiet'));
  await settles.idle();
  expect(batches[0]).toContain('quiet');
  expect(batches.flat()).toHaveLength(1001);
});
