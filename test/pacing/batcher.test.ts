import { afterEach, describe, expect, it, vi } from 'vitest';
import { unavailable } from '../../src/domain/errors.ts';
import { Batcher, type BatcherOptions } from '../../src/pacing/batcher.ts';
import { waitFor } from '../support/wait-for.ts';

const OPTIONS: BatcherOptions<number> = {
  maxItems: 3,
  maxBytes: 100,
  sizeOf: (item) => item,
  maxWaiting: { items: 10, bytes: 1000 },
  maxWaitingOfOne: { items: 10, bytes: 1000 },
  patience: { calmMs: 5000, busyMs: 5000 },
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
      if (items.includes(50)) throw unavailable('gone', 'nothing');
      return items.map((item) => item * 2);
    },
    { ...OPTIONS, ...options },
  );
  return { batcher, batches };
}

/** A batcher whose first flush runs until the test ends it. */
function held(options: Partial<BatcherOptions<number>> = {}) {
  const batches: number[][] = [];
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const batcher = new Batcher<number, number>(
    async (items) => {
      batches.push(items);
      await gate;
      return items;
    },
    { ...OPTIONS, ...options },
  );
  return { batcher, batches, release };
}

const statuses = (settled: PromiseSettledResult<unknown>[]) => settled.map(({ status }) => status);

afterEach(() => vi.useRealTimers());

describe('Batcher', () => {
  it('rejects an item with less time than the one in front of it when its own time is over, and never flushes it', async () => {
    vi.useFakeTimers();
    const { batcher, batches, release } = held();
    const running = batcher.add('a', 1);
    await vi.waitFor(() => expect(batches).toHaveLength(1));
    const usual = batcher.add('a', 2);
    const short = batcher.add('a', 3, 1000);
    const refused = expect(short).rejects.toMatchObject({ kind: 'unavailable', stored: 'nothing' });
    await vi.advanceTimersByTimeAsync(1100);
    await refused;
    release();
    expect(await Promise.all([running, usual])).toEqual([1, 2]);
    expect(batches).toEqual([[1], [2]]);
  });

  it('waits out a pause of the database, which is no overload', async () => {
    vi.useFakeTimers();
    const { batcher, batches, release } = held({ patience: { calmMs: 5000, busyMs: 50 } });
    const first = batcher.add('a', 1);
    await vi.waitFor(() => expect(batches).toHaveLength(1));
    const second = batcher.add('a', 2);
    // Longer than a queue that is not empty counts as overloaded.
    await vi.advanceTimersByTimeAsync(1200);
    release();
    expect(await Promise.all([first, second])).toEqual([1, 2]);
  });

  it('puts items that arrive together into one batch, up to the bound, each with its own result', async () => {
    const { batcher, batches } = doubling();
    expect(await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add('a', item)))).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  it('bounds the bytes of a batch, but takes one item of any size', async () => {
    const { batcher, batches } = doubling();
    await Promise.all([60, 60, 200, 1].map((item) => batcher.add('a', item)));
    expect(batches).toEqual([[60], [60], [200], [1]]);
  });

  it('fails an item that cannot be written, and not its neighbours', async () => {
    const { batcher } = doubling();
    const answers = await Promise.allSettled([1, 13, 2].map((item) => batcher.add('a', item)));
    expect(statuses(answers)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('does not try one by one when nothing can be written now', async () => {
    const { batcher, batches } = doubling();
    const answers = await Promise.allSettled([1, 50].map((item) => batcher.add('a', item)));
    expect(statuses(answers)).toEqual(['rejected', 'rejected']);
    expect(batches).toHaveLength(1);
  });

  it('reports "unknown" at the deadline of an item whose flush is running', async () => {
    vi.useFakeTimers();
    const { batcher, batches } = held({ deadlineMs: 20 });
    const refused = expect(batcher.add('a', 1)).rejects.toMatchObject({ kind: 'unavailable', stored: 'unknown' });
    await vi.advanceTimersByTimeAsync(1);
    expect(batches).toEqual([[1]]);
    await vi.advanceTimersByTimeAsync(100);
    await refused;
  });

  it('never flushes an item that has waited too long, and reports that nothing was stored', async () => {
    vi.useFakeTimers();
    const { batcher, batches, release } = held({ patience: { calmMs: 20, busyMs: 20 } });
    const first = batcher.add('a', 1);
    await vi.advanceTimersByTimeAsync(1);
    const refused = expect(batcher.add('a', 2)).rejects.toMatchObject({ kind: 'unavailable', stored: 'nothing' });
    await vi.advanceTimersByTimeAsync(30);
    await refused;
    release();
    await first;
    expect(await batcher.add('a', 3)).toBe(3);
    expect(batches).toEqual([[1], [3]]);
  });

  it('drops what waits past its deadline when neighbours go one by one', async () => {
    vi.useFakeTimers();
    const batches: number[][] = [];
    const slow = new Batcher<number, number>(
      async (items) => {
        batches.push(items);
        if (items.length > 1) throw new Error('one of them');
        await new Promise((resolve) => setTimeout(resolve, 60));
        return items;
      },
      { ...OPTIONS, deadlineMs: 30 },
    );
    const settling = Promise.allSettled([1, 2].map((item) => slow.add('a', item)));
    await vi.advanceTimersByTimeAsync(100);
    const answers = await settling;
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.stored)).toEqual([
      'unknown',
      'nothing',
    ]);
    expect(batches).toEqual([[1, 2], [1]]);
  });
});

describe('accounts that share a batcher', () => {
  it('are served in turn, whichever came first', async () => {
    const { batcher, batches, release } = held();
    const all = [batcher.add('a', 1)];
    await waitFor(() => batches.length === 1);
    for (const item of [2, 3, 4, 5]) all.push(batcher.add('a', item));
    all.push(batcher.add('b', 9));
    release();
    await Promise.all(all);
    expect(batches).toEqual([[1], [2, 9, 3], [4, 5]]);
  });

  it('do not wait for one whose items are too large to come along', async () => {
    const { batcher, batches, release } = held({ maxBytes: 100, maxItems: 10 });
    const first = batcher.add('a', 1);
    await waitFor(() => batches.length === 1);
    const large = [90, 91].map((item) => batcher.add('large', item));
    const small = [2, 3, 4, 5].map((item) => batcher.add('small', item));
    release();
    await Promise.all([first, ...large, ...small]);
    expect(batches).toEqual([[1], [90, 2, 3, 4], [91, 5]]);
  });

  it('are bounded each, in items and in bytes', async () => {
    const { batcher, release } = held({ maxWaitingOfOne: { items: 2, bytes: 1000 } });
    const items = [1, 2, 3].map((item) => batcher.add('a', item));
    const other = batcher.add('b', 4);
    await expect(items[2]).rejects.toMatchObject({ kind: 'unavailable', stored: 'nothing' });
    release();
    expect(await Promise.all([items[0], items[1], other])).toEqual([1, 2, 4]);

    const big = held({ maxWaitingOfOne: { items: 10, bytes: 100 } });
    const large = [60, 60].map((item) => big.batcher.add('a', item));
    await expect(large[1]).rejects.toMatchObject({ stored: 'nothing' });
    big.release();
    expect(await large[0]).toBe(60);
  });

  it('an account with the most items in a full queue gives way to one with less', async () => {
    const { batcher, batches, release } = held({ maxWaiting: { items: 4, bytes: 1000 } });
    const first = batcher.add('a', 1);
    await waitFor(() => batches.length === 1);
    const loud = [2, 3, 4, 5].map((item) => batcher.add('a', item));
    const quiet = batcher.add('b', 9);
    // Its newest: it would have waited longest.
    await expect(loud[3]).rejects.toMatchObject({ kind: 'unavailable', stored: 'nothing' });
    await expect(batcher.add('a', 6)).rejects.toMatchObject({ stored: 'nothing' });
    release();
    expect(await Promise.all([first, ...loud.slice(0, 3), quiet])).toEqual([1, 2, 3, 4, 9]);
  });

  it('may fill the queue of the process when there are bytes left, and not beyond', async () => {
    const { batcher, release } = held({ maxWaiting: { items: 10, bytes: 150 } });
    const items = [batcher.add('a', 60), batcher.add('b', 60), batcher.add('c', 60)];
    await expect(items[2]).rejects.toMatchObject({ stored: 'nothing' });
    release();
    expect(await Promise.all(items.slice(0, 2))).toEqual([60, 60]);
  });
});

describe('a batcher with four times the work that it can do', () => {
  it('goes on answering as many as it can, soon, and has written nothing that it refused', async () => {
    vi.useFakeTimers();
    const written = new Set<number>();
    // 500 items a second.
    const batcher = new Batcher<number, number>(
      async (items) => {
        await new Promise((resolve) => setTimeout(resolve, items.length * 2));
        for (const item of items) written.add(item);
        return items;
      },
      {
        ...OPTIONS,
        maxItems: 50,
        maxBytes: Number.POSITIVE_INFINITY,
        sizeOf: () => 1,
        maxWaiting: { items: 5000, bytes: 5000 },
        maxWaitingOfOne: { items: 5000, bytes: 5000 },
        patience: { calmMs: 3000, busyMs: 500 },
        deadlineMs: 4500,
      },
    );
    const answered = new Set<number>();
    const refused = new Set<number>();
    const perSecond = Array.from({ length: 30 }, () => 0);
    const waits: number[] = [];
    const startedAt = performance.now();
    let next = 0;
    for (let tick = 0; tick < 2000; tick += 1) {
      for (let n = 0; n < 20; n += 1) {
        const item = next++;
        const askedAt = performance.now();
        batcher.add('a', item).then(
          () => {
            answered.add(item);
            waits.push(performance.now() - askedAt);
            const second = Math.floor((performance.now() - startedAt) / 1000);
            perSecond[second] = (perSecond[second] ?? 0) + 1;
          },
          () => refused.add(item),
        );
      }
      await vi.advanceTimersByTimeAsync(10);
    }
    await vi.advanceTimersByTimeAsync(5000);
    expect(answered.size + refused.size).toBe(next);
    expect([...refused].filter((item) => written.has(item))).toEqual([]);
    // 80 % of what it can do in every second but the first, which begins with nothing.
    expect(Math.min(...perSecond.slice(1, 19))).toBeGreaterThan(400);
    expect(Math.max(...waits.slice(1000))).toBeLessThan(1000);
  });
});
