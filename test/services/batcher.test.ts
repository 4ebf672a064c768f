import { describe, expect, it } from 'vitest';
import { JobferryError } from '../../src/domain/errors.ts';
import { Batcher, type BatcherOptions } from '../../src/services/batcher.ts';

const OPTIONS: BatcherOptions<number> = {
  maxItems: 3,
  maxBytes: 100,
  sizeOf: (item) => item,
  maxWaiting: 10,
  deadlineMs: 10_000,
};

/** A batcher that doubles, and notes its batches. */
function doubling(options: Partial<BatcherOptions<number>> = {}) {
  const batches: number[][] = [];
  const batcher = new Batcher<number, number>(
    async (items) => {
      batches.push(items);
      await new Promise((resolve) => setImmediate(resolve));
      if (items.includes(13)) throw new Error('thirteen');
      if (items.includes(50)) throw new JobferryError('unavailable', 'gone');
      return items.map((item) => item * 2);
    },
    { ...OPTIONS, ...options },
  );
  return { batcher, batches };
}

describe('Batcher', () => {
  it('lets what arrives together ride together, up to the bound, each with its own answer', async () => {
    const { batcher, batches } = doubling();
    expect(await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add(item)))).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('bounds the bytes of a batch, but takes one item of any size', async () => {
    const { batcher, batches } = doubling();
    await Promise.all([60, 60, 200, 1].map((item) => batcher.add(item)));
    expect(batches).toEqual([[60], [60], [200], [1]]);
  });

  it('fails an item that cannot be written, and not its neighbours', async () => {
    const { batcher } = doubling();
    const answers = await Promise.allSettled([1, 13, 2].map((item) => batcher.add(item)));
    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('does not try one by one when nothing can be written now', async () => {
    const { batcher, batches } = doubling();
    const answers = await Promise.allSettled([1, 50].map((item) => batcher.add(item)));
    expect(answers.map((answer) => answer.status)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('turns callers away when too many wait', async () => {
    const { batcher } = doubling({ maxWaiting: 2 });
    const answers = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    expect(answers.map((answer) => answer.status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('answers a caller at its deadline, whatever the flush does', async () => {
    const stuck = new Batcher<number, number>(() => new Promise(() => undefined), { ...OPTIONS, deadlineMs: 20 });
    await expect(stuck.add(1)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
