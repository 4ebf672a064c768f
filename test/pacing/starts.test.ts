import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Starts } from '../../src/pacing/starts.ts';

const A_CLAIM = 320;

describe('deliveries of a large claim', () => {
  it('leave room for others in each round of the event loop', async () => {
    const starts = new Starts({ items: 16, ms: 1000 });
    let started = 0;
    for (let n = 0; n < A_CLAIM; n += 1) starts.add('large', () => (started += 1));
    let longest = 0;
    for (let before = 0; started < A_CLAIM; before = started) {
      await nextRound();
      longest = Math.max(longest, started - before);
    }
    expect(longest).toBeLessThanOrEqual(16);
  });

  it('do not keep those of another account waiting, and begin in their order', async () => {
    const starts = new Starts({ items: 16, ms: 1000 });
    const order: string[] = [];
    for (let n = 0; n < A_CLAIM; n += 1) starts.add('large', () => order.push(`large ${n}`));
    starts.add('small', () => order.push('small'));
    while (order.length <= A_CLAIM) await nextRound();
    expect(order.slice(0, 3)).toEqual(['large 0', 'small', 'large 1']);
    expect(order.filter((name) => name !== 'small')).toEqual(Array.from({ length: A_CLAIM }, (_, n) => `large ${n}`));
  });
});
